/**
 * The longest event loop iteration of a node, in processor time. The node requests large blocks by number from a peer, and serves
 * them. Two processes with real sockets.
 *
 *   node --expose-gc bench/answers.ts [shape …]
 */
import { fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { Hex } from '../src/lib/hex.ts'
import { until } from '../src/lib/testUtils/until.ts'
import { testBlock, testChain, testConfig } from '../src/p2p/testUtils/testChain.ts'
import { startTestNode } from '../src/p2p/testUtils/testNode.ts'
import { MAX_BLOCK_TRANSACTIONS } from '../src/rollup/protocol/index.ts'
import { type PayloadEnvelope, ZERO_HASH } from '../src/rollup/protocol/types.ts'
import { watchLoop } from './loopWatch.ts'

/** Number of transactions in a block, and their size in bytes. */
const SHAPES: Record<string, { count: number; bytes: number; isRefused?: boolean }> = {
  common: { count: 20, bytes: 200 },
  '1-MB': { count: 5_000, bytes: 200 },
  '10-MB-in-one': { count: 1, bytes: 10_000_000 },
  '10-MB': { count: 50_000, bytes: 200 },
  '10-MB-of-most': { count: MAX_BLOCK_TRANSACTIONS, bytes: 150 },
  'most-of-a-byte': { count: MAX_BLOCK_TRANSACTIONS, bytes: 1 },
  'many-in-130-kB': { count: 26_000, bytes: 1 },
  'more-than-any': { count: 2 ** 20, bytes: 1, isRefused: true },
}
const BLOCKS = 4
const REFUSED_WAIT_MS = 3_000

type ToPeer = { kind: 'make'; shape: string } | { kind: 'fetch'; from: number; above: PayloadEnvelope }
type FromPeer = { kind: 'ready' } | { kind: 'made'; above: PayloadEnvelope } | { kind: 'fetched' }

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    peerOf: { type: 'string' },
    l2Time: { type: 'string', default: `${Math.floor(Date.now() / 1_000) - 1_000}` },
  },
})
const l2Time = Number(values.l2Time)
const config = testConfig('isthmus', { genesis: { ...testConfig().genesis, l2Time } })
const names = Object.keys(SHAPES)
const firstNumber = (shape: string): number => 1 + names.indexOf(shape) * (BLOCKS + 1)

/** Blocks of a shape, each the parent of the next, and a small block above them. */
function makeChain(shape: string): { blocks: PayloadEnvelope[]; above: PayloadEnvelope } {
  const { count, bytes } = SHAPES[shape] ?? { count: 0, bytes: 0 }
  const blocks: PayloadEnvelope[] = []
  let parentHash: Hex = ZERO_HASH
  const make = (blockNumber: number, transactions: Uint8Array[]): PayloadEnvelope => {
    const block = testBlock(config, { blockNumber, parentHash, timestamp: l2Time + blockNumber, transactions })
    parentHash = block.payload.blockHash
    return block
  }
  for (let n = 0; n < BLOCKS; n++) {
    const content = new Uint8Array(randomBytes(count * bytes))
    const transactions = Array.from({ length: count }, (_, i) => content.subarray(i * bytes, (i + 1) * bytes))
    blocks.push(make(firstNumber(shape) + n, transactions))
  }
  return { blocks, above: make(firstNumber(shape) + BLOCKS, []) }
}

/** A node that serves its last blocks, and a function that makes it fetch blocks. */
async function startNode(staticPeers: string[]) {
  let blocks: PayloadEnvelope[] = []
  const chain = testChain(config, {
    payloadByNumber: async (number) => blocks.find(({ payload }) => payload.blockNumber === number),
  })
  const started = await startTestNode({ staticPeers }, { chain })
  await until('the connection', () => staticPeers.length === 0 || started.node.connectedPeers().length === 1)
  return {
    ...started,
    serve(made: PayloadEnvelope[]) {
      blocks = made
    },
    async fetch(from: number, above: PayloadEnvelope, isRefused = false): Promise<number> {
      const { received } = started
      received.splice(0)
      started.node.requestRange(from, above.payload.blockNumber, above)
      // No event reports the end of a refused response.
      await (isRefused ? delay(REFUSED_WAIT_MS) : until('the blocks', () => received.length === BLOCKS))
      return received.splice(0).length
    },
  }
}

async function runPeer(address: string): Promise<void> {
  const send = (message: FromPeer): void => void process.send?.(message)
  const peer = await startNode([address])
  process.on('message', async (message: ToPeer) => {
    if (message.kind === 'make') {
      const { blocks, above } = makeChain(message.shape)
      peer.serve(blocks)
      send({ kind: 'made', above })
    } else {
      await peer.fetch(message.from, message.above)
      send({ kind: 'fetched' })
    }
  })
  process.on('disconnect', () => process.exit())
  send({ kind: 'ready' })
}

async function measure(shapes: readonly string[]): Promise<void> {
  const node = await startNode([])
  const args = [`--peerOf=${node.address}`, `--l2Time=${l2Time}`]
  const execArgv = ['--disable-warning=ExperimentalWarning']
  const peer = fork(import.meta.filename, args, { execArgv, serialization: 'advanced' })
  const next = (): Promise<FromPeer> => new Promise((resolve) => peer.once('message', resolve))
  await next()
  const iterations = watchLoop()
  // Garbage from building the blocks must not count in the measurement.
  const collectGarbage = async (): Promise<void> => {
    globalThis.gc?.()
    await delay(100)
    iterations.reset()
  }
  const row = (shape: string, what: string, count: number, startedMs: number): void => {
    const tookMs = (performance.now() - startedMs).toFixed(0)
    const longest = `longest turn ${iterations.longest().toFixed(1)} ms, p99 ${iterations.quantile(0.99).toFixed(1)}`
    console.log(`${shape.padEnd(16)} ${what} ${count} blocks in ${tookMs.padStart(5)} ms: ${longest}`)
  }
  for (const shape of shapes) {
    peer.send({ kind: 'make', shape } satisfies ToPeer)
    const made = await next()
    if (made.kind !== 'made') throw new Error(`the peer said ${made.kind}`)
    const isRefused = SHAPES[shape]?.isRefused === true
    await collectGarbage()
    let startedMs = performance.now()
    const count = await node.fetch(firstNumber(shape), made.above, isRefused)
    row(shape, 'reads ', count, startedMs)
    if (count !== (isRefused ? 0 : BLOCKS)) throw new Error(`${count} blocks came`)
    if (isRefused) continue

    const { blocks, above } = makeChain(shape)
    node.serve(blocks)
    await collectGarbage()
    startedMs = performance.now()
    peer.send({ kind: 'fetch', from: firstNumber(shape), above } satisfies ToPeer)
    await next()
    row(shape, 'serves', BLOCKS, startedMs)
  }
  iterations.stop()
  peer.disconnect()
  await node.node.stop()
}

if (values.peerOf === undefined) await measure(positionals.length === 0 ? names : positionals)
else await runPeer(values.peerOf)
