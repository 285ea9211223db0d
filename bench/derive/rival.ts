import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createRpcClient } from '../../src/jsonRpc/client.ts'
import type { Hex } from '../../src/lib/hex.ts'
import { loadJwtSecret } from '../../src/lib/jwt.ts'
import { createEngineClient } from '../../src/rollup/engine/index.ts'
import { rollupConfigToJson } from '../../src/rollup/protocol/index.ts'
import { claimPort } from '../../test/support/programs.ts'
import { l1ChainConfig } from '../../testnet/l1/chainConfig.ts'
import { startTcpProxy } from '../../testnet/links/tcpProxy.ts'
import { median } from '../figures.ts'
import { createProbe, withOpGeth } from './opGeth.ts'
import { L1_CHAIN_ID, makeRivalChain, type RivalChain } from './rivalChain.ts'
import type { Figure } from './speed.ts'

// A comparison with op-node. Both derive one chain from the same Anvil, each on its own op-geth, one after the other.

const WANTED_RATIO = 2
/** Maximum ratio of a distant L1 to a near one. */
const ALLOWED_SLOWDOWN = 1.3

export interface RivalOptions {
  opGeth: string
  opNode: string
  /** Number of rounds. The median counts. */
  runs: number
  /** Additional latency of L1 in a second pair of runs; 0 = no such pair. */
  l1LatencyMs: number
}

/** Seconds from the start of the process until all blocks are safe. */
interface Pair {
  ours: number
  theirs: number
}

interface Round extends Pair {
  /**
   * Time of op-geth alone for the Engine API calls that build these blocks in sequence. It is a lower bound for every rollup
   * node.
   */
  alone: number
  away?: Pair
}

export async function besideOpNode({ opGeth, opNode, runs, l1LatencyMs }: RivalOptions): Promise<Figure[]> {
  const { anvil, chain } = await makeRivalChain()
  const directory = mkdtempSync(join(tmpdir(), 'devium-rival-'))
  const proxy = l1LatencyMs > 0 ? await startTcpProxy(Number(new URL(anvil.url).port)) : undefined
  proxy?.set({ delayMs: l1LatencyMs / 2 })
  try {
    writeFileSync(join(directory, 'genesis.json'), JSON.stringify(chain.genesis))
    writeFileSync(join(directory, 'rollup.json'), JSON.stringify(rollupConfigToJson(chain.config)))
    writeFileSync(join(directory, 'l1.json'), JSON.stringify(l1ChainConfig(L1_CHAIN_ID)))
    const timePair = async (l1: string): Promise<Pair> => ({
      ours: await timeOf(chain, { directory, opGeth, l1, node: 'ours', binary: process.execPath }),
      theirs: await timeOf(chain, { directory, opGeth, l1, node: 'op-node', binary: opNode }),
    })
    const rounds: Round[] = []
    printHeading(chain, l1LatencyMs)
    for (let run = 1; run <= runs; run++) {
      const alone = await timeAlone(chain, { directory, opGeth })
      const near = await timePair(anvil.url)
      const away = proxy === undefined ? {} : { away: await timePair(`http://127.0.0.1:${proxy.port}`) }
      const round = { alone, ...near, ...away }
      rounds.push(round)
      printRow(String(run), columnsOf(round))
    }
    const columns = rounds.map(columnsOf)
    printRow(
      'median',
      (columns[0] ?? []).map((_, index) => median(columns.map((row) => row[index] ?? 0))),
    )
    return figuresOf(rounds, l1LatencyMs)
  } finally {
    await proxy?.close()
    rmSync(directory, { recursive: true, force: true })
    await anvil.stop()
  }
}

function figuresOf(rounds: readonly Round[], l1LatencyMs: number): Figure[] {
  const ratio = median(rounds.map(ratioOf))
  const figures: Figure[] = [
    {
      name: `times as fast as op-node, median of ${rounds.length}`,
      value: ratio,
      unit: 'x',
      wanted: `>= ${WANTED_RATIO}`,
      isMet: ratio >= WANTED_RATIO,
    },
  ]
  if (l1LatencyMs > 0) {
    const slowdown = median(rounds.map(({ ours, away }) => (away?.ours ?? Number.NaN) / ours))
    figures.push({
      name: `L1 ${l1LatencyMs} ms away against near, median of ${rounds.length}`,
      value: slowdown,
      unit: 'x',
      wanted: `<= ${ALLOWED_SLOWDOWN}`,
      isMet: slowdown <= ALLOWED_SLOWDOWN,
    })
  }
  return figures
}

const ratioOf = ({ ours, theirs }: Pair): number => theirs / ours

const COLUMN = 13

function printHeading({ last }: RivalChain, l1LatencyMs: number): void {
  console.log(`     ${last.number} blocks on op-geth, seconds (ratio: op-node to ours)`)
  const away = l1LatencyMs > 0 ? ['ours away', 'op-node away', 'ratio away'] : []
  printCells(['run', 'calls alone', 'ours', 'op-node', 'ratio', ...away])
}

const columnsOf = ({ alone, away, ...near }: Round): number[] => [
  alone,
  ...[near, ...(away === undefined ? [] : [away])].flatMap((pair) => [pair.ours, pair.theirs, ratioOf(pair)]),
]

const printRow = (name: string, values: readonly number[]): void =>
  printCells([name, ...values.map((value) => value.toFixed(2))])

const printCells = (cells: readonly string[]): void =>
  console.log(`     ${cells.map((cell) => cell.padStart(COLUMN)).join('')}`)

interface Run {
  directory: string
  opGeth: string
  l1: string
  node: 'ours' | 'op-node'
  binary: string
}

function timeOf({ last }: RivalChain, { directory, opGeth, l1, node, binary }: Run): Promise<number> {
  return withOpGeth(opGeth, directory, async ({ engineUrl, jwtPath, start }) => {
    const rpcPort = await claimPort()
    const flags = [
      `--l1=${l1}`,
      '--l1.beacon.ignore',
      '--l1.trustrpc',
      '--l1.http-poll-interval=300ms',
      `--l2=${engineUrl}`,
      `--l2.jwt-secret=${jwtPath}`,
      `--rollup.config=${join(directory, 'rollup.json')}`,
      `--rollup.l1-chain-config=${join(directory, 'l1.json')}`,
      '--rpc.addr=127.0.0.1',
      `--rpc.port=${rpcPort}`,
      '--p2p.disable',
      '--log.level=error',
    ]
    const ours = fileURLToPath(new URL('../../bin/devium--batcher.mjs', import.meta.url))
    const child = start(binary, node === 'ours' ? [ours, ...flags] : flags)
    const startedMs = performance.now()
    const syncStatus = createProbe(`http://127.0.0.1:${rpcPort}`, 'optimism_syncStatus')
    // Polling costs the measured processes time, so it is rare.
    for (let number = -1; number !== last.number; await delay(50)) {
      if (child.exitCode !== null) throw new Error(`${node} ended with code ${child.exitCode}`)
      const status = await syncStatus.request()
      if (!isSyncStatus(status)) continue
      number = status.safe_l2.number
      if (number === last.number && status.safe_l2.hash !== last.hash)
        throw new Error(`${node} came to another block ${number}`)
    }
    const seconds = (performance.now() - startedMs) / 1000
    await syncStatus.close()
    return seconds
  })
}

/** Builds the blocks by Engine API calls alone. */
function timeAlone({ config, last, attributes }: RivalChain, { directory, opGeth }: Pick<Run, 'directory' | 'opGeth'>) {
  return withOpGeth(opGeth, directory, async ({ engineUrl, jwtPath }) => {
    const rpc = createRpcClient({ url: engineUrl, jwtSecret: loadJwtSecret(jwtPath, { create: false }) })
    const engine = createEngineClient({ rpc }, config)
    const finalizedBlockHash = config.genesis.l2.hash
    const stateAt = (hash: Hex) => ({ headBlockHash: hash, safeBlockHash: hash, finalizedBlockHash })
    const startedMs = performance.now()
    let head = finalizedBlockHash
    for (const next of attributes) {
      const { payloadId } = await engine.forkchoiceUpdated(stateAt(head), next)
      const built = await engine.getPayload(payloadId ?? '0x', next.timestamp)
      await engine.newPayload(built)
      head = built.payload.blockHash
    }
    await engine.forkchoiceUpdated(stateAt(head))
    const seconds = (performance.now() - startedMs) / 1000
    await rpc.close()
    if (head !== last.hash) throw new Error(`op-geth made another block ${last.number}`)
    return seconds
  })
}

function isSyncStatus(value: unknown): value is { safe_l2: { number: number; hash: string } } {
  return typeof value === 'object' && value !== null && 'safe_l2' in value
}
