import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { UsageError } from '../../src/lib/errors.ts'
import { unknownName } from '../../src/lib/nearest.ts'
import { FORKS, type Fork } from '../../src/rollup/protocol/index.ts'

/** Third-party rollup nodes and execution clients that can replace ours in a node. */
export const ROLLUP_CLIENTS = ['op-node', 'kona'] as const
export const EXECUTION_CLIENTS = ['op-geth', 'op-reth'] as const
export type RollupClient = (typeof ROLLUP_CLIENTS)[number]
export type ExecutionClient = (typeof EXECUTION_CLIENTS)[number]

export interface ClientChoice {
  /** Name of the node. */
  node: string
  client: RollupClient | ExecutionClient
  /** Path of the binary. */
  path: string
}

/** The third-party programs of a node. An absent member means our program. */
export interface NodeClientChoice {
  rollup?: { client: RollupClient; path: string } | undefined
  execution?: { client: ExecutionClient; path: string } | undefined
}

/** The names of the programs, for display. */
export interface NodeClientNames {
  rollup?: RollupClient | undefined
  execution?: ExecutionClient | undefined
}

const KNOWN = [...ROLLUP_CLIENTS, ...EXECUTION_CLIENTS]

/** `verifier1=op-node:/path,…`. Throws UsageError. */
export function parseClients(text: string): ClientChoice[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map((part) => {
      const [, node = '', name = '', path = ''] = /^([^=]+)=([^:]+):(.+)$/.exec(part) ?? []
      if (path === '') throw new UsageError(`expected NODE=op-node:PATH, not "${part}"`)
      const client = KNOWN.find((known) => known === name)
      if (client === undefined) throw new UsageError(unknownName('client', name, KNOWN))
      return { node, client, path: resolve(path) }
    })
}

export function clientsOf(choices: readonly ClientChoice[], node: string): NodeClientChoice {
  const own = choices.filter((choice) => choice.node === node)
  const rollup = own.find((choice): choice is ClientChoice & { client: RollupClient } => isRollup(choice.client))
  const execution = own.find((choice): choice is ClientChoice & { client: ExecutionClient } => !isRollup(choice.client))
  return { rollup, execution }
}

function isRollup(client: RollupClient | ExecutionClient): client is RollupClient {
  return ROLLUP_CLIENTS.some((known) => known === client)
}

/** Undefined if both programs are ours. */
export function namesOf({ rollup, execution }: NodeClientChoice): NodeClientNames | undefined {
  if (rollup === undefined && execution === undefined) return undefined
  return { rollup: rollup?.client, execution: execution?.client }
}

/** ` (op-node, op-geth)`; empty if both programs are ours. */
export function clientSuffix({ rollup, execution }: NodeClientNames = {}): string {
  const names = [rollup, execution].filter((name) => name !== undefined)
  return names.length === 0 ? '' : ` (${names.join(', ')})`
}

/** Throws UsageError if a choice cannot run in a testnet with these nodes, whose newest fork is `fork`. */
export function checkClients(choices: readonly ClientChoice[], nodes: readonly string[], fork: Fork): void {
  for (const [index, { node, client, path }] of choices.entries()) {
    const flag = `--client ${node}=${client}`
    if (!nodes.includes(node))
      throw new UsageError(`${flag}: there is no node ${node}: expected one of ${nodes.join(', ')}`)
    const twice = choices
      .slice(0, index)
      .some((other) => other.node === node && isRollup(other.client) === isRollup(client))
    if (twice)
      throw new UsageError(
        `${flag}: ${node} has another ${isRollup(client) ? 'rollup node' : 'execution client'} already`,
      )
    if (!existsSync(path)) throw new UsageError(`${flag}: there is no file ${path}`)
    if (client === 'op-geth' && isFrom(fork, 'karst')) {
      throw new UsageError(`${flag}: op-geth does not know ${fork}: its newest fork is jovian, choose --fork jovian`)
    }
    if (client === 'kona' && node === nodes[0]) throw new UsageError(`${flag}: ${NO_SEQUENCER}`)
  }
}

const NO_SEQUENCER = 'kona cannot make the blocks here: its admin API is another one'

/** The reason why these programs cannot be a sequencer; undefined if they can. */
export function whyNoSequencer({ rollup }: NodeClientChoice): string | undefined {
  return rollup?.client === 'kona' ? NO_SEQUENCER : undefined
}

/** The limitations of a node with these programs, one sentence each. */
export function limitsOf({ rollup, execution }: NodeClientChoice, fork: Fork): string[] {
  const limits: string[] = []
  if (rollup !== undefined) {
    limits.push(`${rollup.client} has no health verdict and no page, and its clock cannot be set`)
  }
  if (rollup?.client === 'op-node' && execution === undefined && isFrom(fork, 'karst')) {
    limits.push('op-node up to v1.19.0 cannot make blocks of karst on devium-geth')
  }
  if (rollup?.client === 'kona') {
    limits.push('kona makes no blocks here, and dials only peers that discovery finds')
  }
  if (execution !== undefined) limits.push(`the clock of ${execution.client} cannot be set`)
  if (execution?.client === 'op-reth' && isFrom(fork, 'karst')) limits.push('op-reth knows karst from 2.3.2 on')
  return limits
}

function isFrom(fork: Fork, first: Fork): boolean {
  return FORKS.indexOf(fork) >= FORKS.indexOf(first)
}
