import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { z } from 'zod'
import { redact } from '../../../jsonRpc/credentials.ts'
import { describeError, UsageError } from '../../../lib/errors.ts'
import type { NodeClient } from '../../../rpc/client/index.ts'
import { terminalWidth } from '../../shared/table.ts'
import { printLines } from '../../shared/terminal/printLines.ts'
import { DEFAULT_RPC, ifServed, type NodeOptions, nodeCommand, withNode } from '../nodeCommand.ts'
import { printJson } from '../printJson.ts'
import { type NodeRow, type StatusAnswers, statusLines, statusTable } from './statusView.ts'
import { healthSchema, NOT_HEALTHY_EXIT_CODE, verdictOptions } from './verdictView.ts'

interface StatusOptions extends NodeOptions {
  dir?: string
}

/** The address file in a testnet's `--dir`. */
const ADDRESSES_FILE = 'addresses.json'
const addressesSchema = z.object({ nodes: z.array(z.object({ name: z.string(), rollupRpc: z.string() })).min(1) })

/** `devium status`: the health of one node or of several. */
export function addStatus(program: Command): void {
  nodeCommand(program, 'status', 'Show the health of a node with causes and remedies, its heads and its peers')
    .option('--dir <dir>', "In place of --rpc: all nodes of the testnet in this directory (the testnet's --dir)")
    .option('--json', 'Print one object, or an array of them for several nodes')
    .addHelpText(
      'after',
      '\n--rpc accepts several addresses, separated by commas, and shows them in one table.\nExit code 0: healthy, 3: a node is unhealthy, or one of several does not answer, 1: the command failed.',
    )
    .action(showStatus)
}

async function showStatus(options: StatusOptions): Promise<void> {
  const nodes = options.dir === undefined ? listOf(options.rpc) : nodesOf(options.dir)
  const [only] = nodes
  if (options.dir !== undefined || nodes.length > 1 || only === undefined) return showSeveral(nodes, options)
  await withNode({ ...options, rpc: only.rpc }, async (node) => {
    const answers = await readStatus(node)
    if (options.json) printJson(statusJson(only.rpc, answers))
    else {
      printLines(statusLines(answers, verdictOptions(only)))
    }
    if (!isHealthy(answers)) process.exitCode = NOT_HEALTHY_EXIT_CODE
  })
}

async function showSeveral(nodes: readonly { rpc: string; name?: string }[], options: StatusOptions): Promise<void> {
  const rows = await Promise.all(nodes.map(({ rpc, name }) => readRow({ ...options, rpc }, name)))
  if (options.json) {
    printJson(
      rows.map(({ rpc, name, answers, problem }) => {
        return answers === undefined ? { rpc, name: name ?? null, problem: problem ?? null } : statusJson(rpc, answers)
      }),
    )
  } else printLines(statusTable(rows, terminalWidth()))
  if (!rows.every(({ answers }) => answers !== undefined && isHealthy(answers)))
    process.exitCode = NOT_HEALTHY_EXIT_CODE
}

/** A node of another client has no verdict: its answer counts. */
function isHealthy({ health, other }: StatusAnswers): boolean {
  return other !== undefined || healthSchema.safeParse(health).data?.state === 'healthy'
}

/** A node that does not answer is a row too. An invalid address throws UsageError. */
async function readRow(options: NodeOptions, name: string | undefined): Promise<NodeRow> {
  const rpc = redact(options.rpc)
  let row: NodeRow = { rpc, name }
  if (!URL.canParse(options.rpc)) throw new UsageError(`--rpc: expected http addresses such as ${DEFAULT_RPC}`)
  try {
    await withNode(
      options,
      async (node) => {
        const answers = await readStatus(node)
        // A malformed answer must not hide the rows of the other nodes.
        statusTable([{ rpc, answers }])
        row = { rpc, name, answers }
      },
      { who: 'no node' },
    )
  } catch (error) {
    row = { rpc, name, problem: describeError(error) }
  }
  return row
}

async function readStatus(node: NodeClient): Promise<StatusAnswers> {
  const [health, heads, peers, bans, derivation] = await Promise.all([
    ifServed(node, 'devium_health', []),
    readHeads(node),
    ifServed(node, 'opp2p_peerStats', []),
    ifServed(node, 'deviump2p_bans', []),
    ifServed(node, 'devium_derivationStatus', []),
  ])
  if (health !== undefined) return { health, heads, peers, bans, derivation }
  const [version, self] = await Promise.all([node.request('optimism_version', []), ifServed(node, 'opp2p_self', [])])
  return { heads, peers, other: { version, self } }
}

/** Nodes of other clients have op-node's method only. */
async function readHeads(node: NodeClient): Promise<unknown> {
  return (await ifServed(node, 'devium_syncStatus', [])) ?? node.request('optimism_syncStatus', [])
}

/** Heads stand next to the verdict, with the names of devium_syncStatus. */
function statusJson(rpc: string, { health, heads, peers, bans }: StatusAnswers) {
  const heading = typeof heads === 'object' ? heads : {}
  return { rpc: redact(rpc), health: health ?? null, ...heading, peers: peers ?? null, bans: bans ?? null }
}

/** Splits at commas that a scheme follows, because a password may hold a comma. */
function listOf(rpc: string): { rpc: string }[] {
  return rpc.split(/,\s*(?=\w+:\/\/)/).map((url) => ({ rpc: url.trim() }))
}

function nodesOf(dir: string): { rpc: string; name: string }[] {
  const file = join(dir, ADDRESSES_FILE)
  try {
    const { nodes } = addressesSchema.parse(JSON.parse(readFileSync(file, 'utf8')))
    return nodes.map(({ name, rollupRpc }) => ({ name, rpc: rollupRpc }))
  } catch (cause) {
    throw new UsageError(`--dir ${dir}: no testnet runs there (cannot read its nodes from ${file})`, { cause })
  }
}
