import { quantityToNumber } from '../../src/lib/hex.ts'
import { until } from '../../src/lib/testUtils/until.ts'
import { judgeOrder, type SubmitterChain } from './submitterChain.ts'

/** Channels stay open for longer than a round, so the stop posts them. Receipts are checked at the default interval. */
const SUBMITTER_FLAGS = [
  '--poll-interval=1s',
  '--max-channel-duration=30',
  '--max-l1-tx-size-bytes=4000',
  '--target-num-frames=2',
  '--batch-type=1',
  '--num-confirmations=1',
  '--sub-safety-margin=4',
  '--log.level=debug',
]
const CLIENT_LEAVES_AFTER_MS = 1_000
/** Minimum number of blocks loaded since the last stop. */
const BLOCKS_A_ROUND = 4

export interface AbandonedStopsReport {
  /** Stops whose caller disconnected before their end. */
  abandoned: number
  /** Blocks up to the head at the call of a stop that L1 lacked when the line appeared. */
  missing: number[]
  /** L1 blocks from the last transaction to the line, for each stop. */
  l1BlocksToLine: number[]
  /** Blocks whose predecessor is missing on L1. */
  gaps: number[]
  complaints: string[]
}

/** Repeatedly stops a submitter under load, by callers that disconnect after a second, and starts it again. */
export async function abandonStops(chain: SubmitterChain, rounds: number): Promise<AbandonedStopsReport> {
  chain.startLoad({ bytesPerSecond: 1_500 })
  const submitter = chain.startSubmitter(SUBMITTER_FLAGS)
  const report: AbandonedStopsReport = { abandoned: 0, missing: [], l1BlocksToLine: [], gaps: [], complaints: [] }
  const l1Head = async () => quantityToNumber(await chain.l1.request('eth_blockNumber', []))
  let published = Promise.resolve(0)
  let stopped = Promise.withResolvers<number>()
  submitter.listeners.add((line) => {
    if (line.includes('"msg":"Transaction successfully published"')) published = l1Head()
    if (line.includes('"msg":"Batch Submitter stopped"')) l1Head().then(stopped.resolve, stopped.reject)
    if (/"lvl":"(warn|error|crit)"/.test(line)) report.complaints.push(line)
  })
  let newest = 0
  for (let round = 0; round < rounds; round++) {
    await until('blocks', async () => (await lastLoaded(submitter)) >= newest + BLOCKS_A_ROUND)
    const { unsafe } = await chain.heads()
    newest = unsafe.number
    const answer = submitter.request('admin_stopBatcher', [], { timeoutMs: CLIENT_LEAVES_AFTER_MS })
    await answer.catch(() => report.abandoned++)
    report.l1BlocksToLine.push((await stopped.promise) - (await published))
    stopped = Promise.withResolvers()
    const posted = new Set((await chain.postedChannels()).flatMap(({ blocks }) => blocks))
    for (let number = 1; number <= newest; number++) if (!posted.has(number)) report.missing.push(number)
    await submitter.request('admin_startBatcher')
  }
  report.gaps = judgeOrder(await chain.postedChannels()).gaps
  return report
}

async function lastLoaded(submitter: { request(method: string): Promise<unknown> }): Promise<number> {
  const status = (await submitter.request('admin_batcherStatus')) as { lastLoaded: { number: number } | null }
  return status.lastLoaded?.number ?? 0
}
