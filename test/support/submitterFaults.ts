import { performance } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { toQuantity } from '../../src/lib/hex.ts'
import { until } from '../../src/lib/testUtils/until.ts'
import { roles } from '../../testnet/accounts.ts'
import { FaultyL1, type L1Faults } from './faultyL1.ts'
import { randomNumbers } from './random.ts'
import { SubmitterChain, type SubmitterProcess } from './submitterChain.ts'

/** Approximately Ethereum's fees, in wei. The faults multiply them by 20. */
const BASE_FEE = 2_000_000_000n
const BLOB_BASE_FEE = 1_000_000_000n
const REORG_DEPTH = 3
/** L1 blocks that a channel stays open. */
const CHANNEL_DURATION = 4
const L1_BLOCK_TIME = 2
const CHANNEL_SECONDS = CHANNEL_DURATION * L1_BLOCK_TIME
/** Maximum length of a phase that waits for its faults. */
const LONGEST_PHASE_SECONDS = 60

const SUBMITTER_FLAGS = [
  '--poll-interval=500ms',
  `--max-channel-duration=${CHANNEL_DURATION}`,
  '--max-l1-tx-size-bytes=8000',
  '--target-num-frames=4',
  '--batch-type=1',
  '--num-confirmations=3',
  '--sub-safety-margin=4',
  '--network-timeout=2s',
  '--resubmission-timeout=6s',
  '--txmgr.rebroadcast-interval=2s',
  '--txmgr.receipt-query-interval=500ms',
]

interface Phase {
  name: string
  faults: Partial<L1Faults>
  /** Counters of the L1 that must grow before the phase ends, because in many seconds nothing is sent. */
  meets?: readonly string[]
  /** The L1's base fee during the phase. */
  baseFee?: bigint
  reorg?: boolean
}

/** The phases run in sequence and repeat. Each lasts its time, or until the submitter has met its faults. */
const PHASES: readonly Phase[] = [
  { name: 'errors and delays', faults: { failing: 0.4, delayMs: 1_500 }, meets: ['delayed', 'failed'] },
  { name: 'reorg', faults: {}, reorg: true },
  { name: 'base fee x20', faults: {}, baseFee: 20n * BASE_FEE },
  {
    name: 'receipts and transactions dropped',
    faults: { droppedReceipts: 0.7, lostTransactions: 0.5 },
    meets: ['receipt dropped'],
  },
  { name: 'pool full', faults: { poolFull: true }, meets: ['pool full'] },
  {
    name: 'blob fee x20, errors, dropped receipts',
    faults: { blobBaseFeeWei: 20n * BLOB_BASE_FEE, failing: 0.2, delayMs: 500, droppedReceipts: 0.3 },
  },
]

export interface SubmitterFaultReport {
  da: string
  cycles: number
  faults: Record<string, number>
  reorgs: number
  transactionsMined: number
  /** Maximum lag of the safe head in blocks during faults. */
  worstLag: number
  /** Number of blocks in each channel posted after the last fault. */
  calmChannelBlocks: number[]
  /** Seconds from the last fault until the safe head was within one channel of the unsafe head; null if not in time. */
  caughtUpSeconds: number | null
  /** Lag of the safe head in blocks, from the end of the calm time until one channel duration later. */
  lag: { least: number; most: number }
  /** Maximum number of L1 blocks that the rollup node was behind in that time: its share of the lag. */
  nodeBehindL1: number
  /** Whether the stop posted everything and the safe head reached the last block. */
  allSafe: boolean
  /** Lines of level error in the submitter's log. */
  errors: string[]
  seconds: number
}

/** A submitter whose L1 repeats all faults. Afterwards it must catch up and lose nothing. */
export async function submitUnderFaults(options: {
  da: 'calldata' | 'blobs' | 'auto'
  cycles: number
  phaseSeconds: number
  /** Seconds in which it must catch up. */
  calmSeconds: number
  /** Whether the whole time is waited for. */
  waitForCalm?: boolean
  seed?: number
}): Promise<SubmitterFaultReport> {
  const { da, cycles, phaseSeconds, calmSeconds, waitForCalm = false, seed = 7 } = options
  const startedMs = performance.now()
  await using opened = new AsyncDisposableStack()
  const chain = await SubmitterChain.start({ l1BlockTime: L1_BLOCK_TIME })
  opened.defer(() => chain.stop())
  const l1 = new FaultyL1(chain.testnet.l1.rpc, roles.batcher.address, randomNumbers(seed))
  await l1.start()
  opened.defer(() => l1.stop())
  const fees = new BaseFee(chain)
  opened.defer(() => fees.stop())
  chain.startLoad({ bytesPerSecond: 2_000 })
  const submitter = chain.startSubmitter([...SUBMITTER_FLAGS, `--data-availability-type=${da}`], { l1Url: l1.url })
  await submitter.up

  let worstLag = 0
  let reorgs = 0
  const lagNow = async () => {
    const { safe, unsafe } = await chain.heads()
    return unsafe.number - safe.number
  }
  for (let cycle = 0; cycle < cycles; cycle++) {
    for (const phase of PHASES) {
      await l1.setFaults(phase.faults)
      fees.level = phase.baseFee ?? BASE_FEE
      if (phase.reorg) {
        await chain.l1.request('anvil_reorg', [REORG_DEPTH, []])
        reorgs++
      }
      const before = { ...l1.counts }
      const isMet = () => (phase.meets ?? []).every((fault) => (l1.counts[fault] ?? 0) > (before[fault] ?? 0))
      for (let second = 0; second < phaseSeconds || (!isMet() && second < LONGEST_PHASE_SECONDS); second++) {
        await delay(1_000)
        worstLag = Math.max(worstLag, await lagNow())
        requireRunning(submitter)
      }
    }
  }
  await l1.setFaults({})
  fees.level = BASE_FEE
  const calmFrom = Number(await chain.l1.request('eth_blockNumber', []))
  const calmMs = performance.now()
  const sinceCalm = () => (performance.now() - calmMs) / 1000
  let caughtUpSeconds: number | undefined
  while (sinceCalm() < calmSeconds && caughtUpSeconds === undefined) {
    if ((await lagNow()) <= CHANNEL_SECONDS / chain.config.blockTime) caughtUpSeconds = sinceCalm()
    await delay(200)
  }
  if (waitForCalm) await delay(1_000 * Math.max(0, calmSeconds - sinceCalm()))
  const lags = [await lagNow()]
  let nodeBehindL1 = 0
  for (const until = sinceCalm() + CHANNEL_SECONDS; waitForCalm && sinceCalm() < until; await delay(500)) {
    lags.push(await lagNow())
    const l1Head = Number(await chain.l1.request('eth_blockNumber', []))
    nodeBehindL1 = Math.max(nodeBehindL1, l1Head - (await chain.heads()).l1)
  }
  const calmChannels = (await chain.postedChannels()).filter(({ l1Block }) => l1Block > calmFrom)
  const transactionsMined = Number(await chain.l1.request('eth_getTransactionCount', [roles.batcher.address, 'latest']))
  const allSafe = await drains(chain, submitter)
  return {
    da,
    cycles,
    faults: l1.counts,
    reorgs,
    transactionsMined,
    worstLag,
    calmChannelBlocks: calmChannels.map(({ blocks }) => blocks.length),
    caughtUpSeconds: caughtUpSeconds === undefined ? null : Math.round(caughtUpSeconds * 10) / 10,
    lag: { least: Math.min(...lags), most: Math.max(...lags) },
    nodeBehindL1,
    allSafe,
    errors: submitter.errors,
    seconds: Math.round((performance.now() - startedMs) / 1000),
  }
}

/** Lets the submitter post everything. The safe head must reach the previous unsafe head. */
async function drains(chain: SubmitterChain, submitter: SubmitterProcess): Promise<boolean> {
  const { unsafe } = await chain.heads()
  await submitter.request('admin_stopBatcher', [])
  await until('the last safe block', async () => (await chain.heads()).safe.number >= unsafe.number)
  return (await chain.blockHash(unsafe.number)) === unsafe.hash
}

function requireRunning(submitter: SubmitterProcess): void {
  if (!submitter.isRunning) throw new Error(`the submitter ended by itself: ${submitter.lines.slice(-5).join('\n')}`)
}

/** Keeps the L1's base fee constant, because empty blocks would lower it. */
class BaseFee {
  level = BASE_FEE
  private readonly timer: NodeJS.Timeout

  constructor(chain: SubmitterChain) {
    const set = () =>
      chain.l1.request('anvil_setNextBlockBaseFeePerGas', [toQuantity(this.level)]).catch(() => undefined)
    this.timer = setInterval(set, 400)
  }

  stop(): void {
    clearInterval(this.timer)
  }
}
