import { readFileSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createRpcClient } from '../../src/jsonRpc/client.ts'
import { parseRollupConfig } from '../../src/rollup/protocol/index.ts'
import { startTestnet } from '../../test/support/testnet.ts'
import { roles } from '../../testnet/accounts.ts'
import { quantile } from '../figures.ts'
import { sendLoad } from './load.ts'
import { watchBlocks } from './peer.ts'
import { logEveryBlock, sealedBlocks, summary } from './timings.ts'

// Distance of a block's publication from its timestamp. The sequencer is real: devium-geth and rollup node as processes,
// one-second blocks, batches posted. A peer records the arrival of each block, first without users, then with transactions.
// `published` is when the sequencer hands a block to gossip, and `arrived` is when the peer has validated it.
// Run: npm run bench:sequencer [SECONDS] [TRANSACTIONS_PER_SECOND]

/** The target: 99 of 100 blocks are published within this distance of their timestamp on an idle machine. */
const TARGET_MS = 100
/** Seconds after the start, and after the load begins, that do not count because V8 still compiles. */
const WARM_UP_SECONDS = 15

const [secondsText = '120', rateText = '100'] = process.argv.slice(2)
const seconds = Number(secondsText)
const rate = Number(rateText)
if (!(seconds > 0 && rate > 0)) throw new Error(`not numbers of seconds and transactions: ${secondsText} ${rateText}`)

const testnet = await startTestnet({ nodes: 1 })
const opened = new AsyncDisposableStack()
opened.defer(async () => void (await testnet.stop()))
try {
  const [sequencer] = testnet.nodes
  if (sequencer === undefined) throw new RangeError('a testnet has a sequencer')
  await logEveryBlock(sequencer.rollupRpc)
  const config = parseRollupConfig(JSON.parse(readFileSync(join(testnet.joinDir, 'rollup.json'), 'utf8')))
  const peer = await watchBlocks(config, roles.sequencer.address, sequencer.p2p)
  opened.defer(() => peer.stop())
  const eth = createRpcClient({ url: sequencer.ethRpc })
  opened.defer(() => eth.close())
  console.log(`${cpus().length} processors, load ${loadavg().map((load) => load.toFixed(1))}, ${seconds} s each`)

  const isIdleMet = await measure('no transactions')
  const stop = new AbortController()
  const sending = sendLoad(eth, testnet, rate, stop.signal)
  await measure(`${rate} transactions/s`)
  stop.abort()
  await sending
  process.exitCode = isIdleMet ? 0 : 1

  /** Returns true if the target is met. */
  async function measure(what: string): Promise<boolean> {
    await delay(WARM_UP_SECONDS * 1000)
    const from = Math.ceil(Date.now() / 1000)
    await delay(seconds * 1000)
    // Other load on the machine affects the figures, so it is printed too.
    const blocks = sealedBlocks(join(testnet.dir, 'logs'), config).filter(
      ({ timestamp }) => timestamp > from && timestamp <= from + seconds,
    )
    const arrived = [...peer.arrivals].filter(([timestamp]) => timestamp > from && timestamp <= from + seconds)
    const published = blocks.map(({ publishedAfterMs }) => publishedAfterMs)
    console.log(`\n${what}: load ${loadavg()[0]?.toFixed(1)}, ${perBlock(blocks)} transactions a block`)
    console.log('published after its timestamp', summary(published))
    console.log('arrived after its timestamp  ', summary(arrived.map(([timestamp, atMs]) => atMs - timestamp * 1000)))
    console.log('sealing                      ', summary(blocks.map(({ sealingMs }) => sealingMs)))
    const farthest = quantile(published.map(Math.abs), 0.99)
    console.log(`p99 of the distance from the timestamp: ${farthest} ms (target ${TARGET_MS})`)
    return farthest <= TARGET_MS && published.length >= seconds * 0.9
  }
} finally {
  await opened.disposeAsync()
}

function perBlock(blocks: readonly { transactions: number }[]): string {
  return (blocks.reduce((sum, { transactions }) => sum + transactions, 0) / Math.max(1, blocks.length)).toFixed(1)
}
