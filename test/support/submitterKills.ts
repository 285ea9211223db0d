import { performance } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { randomNumbers } from './random.ts'
import { judgeOrder, SubmitterChain } from './submitterChain.ts'

const SUBMITTER_FLAGS = [
  '--poll-interval=100ms',
  '--max-channel-duration=1',
  '--max-l1-tx-size-bytes=3000',
  '--target-num-frames=4',
  '--batch-type=1',
  '--num-confirmations=2',
  '--sub-safety-margin=4',
  '--resubmission-timeout=4s',
  '--txmgr.rebroadcast-interval=1s',
  '--txmgr.receipt-query-interval=100ms',
]
/** Used in turn, so that each restart finds pending transactions of another kind. */
const KINDS = ['calldata', 'blobs', 'calldata', 'auto']

/** Time in which the last submitter must post the rest. */
const CATCH_UP_MS = 240_000

export interface SubmitterKillReport {
  kills: number
  /** Number of kills with transactions in L1's pool. */
  killsWithTxsInPool: number
  seed: number
  /** Number of blocks on L1 up to the last one. */
  blocks: number
  channels: number
  /** Channels that start with a block that L1 already had. */
  repeated: number
  /** Blocks whose predecessor is missing on L1. */
  gaps: number[]
  /** Blocks of the sequencer that derivation replaced. */
  replaced: number[]
  seconds: number
}

/**
 * Kills a submitter with SIGKILL at random moments under load, and restarts it each time. The last run may finish. Then all
 * blocks must be safe and unchanged.
 */
export async function submitUnderKills({
  kills,
  seed = Math.floor(Math.random() * 2 ** 31),
}: {
  kills: number
  seed?: number
}): Promise<SubmitterKillReport> {
  const startedMs = performance.now()
  const next = randomNumbers(seed)
  const chain = await SubmitterChain.start({ l1BlockTime: 1 })
  try {
    chain.startLoad({ bytesPerSecond: 1_500 })
    const made = new Map<number, unknown>()
    let killsWithTxsInPool = 0
    for (let kill = 0; kill < kills; kill++) {
      const submitter = chain.startSubmitter([
        ...SUBMITTER_FLAGS,
        `--data-availability-type=${KINDS[kill % KINDS.length]}`,
      ])
      // One kill in eight comes during the start.
      if (next() > 1 / 8) await submitter.up
      await delay(4_000 * next())
      if (!submitter.isRunning)
        throw new Error(`the submitter ended by itself: ${submitter.lines.slice(-5).join('\n')}`)
      await submitter.end('SIGKILL')
      if ((await chain.poolCount()) > 0) killsWithTxsInPool++
      const { unsafe } = await chain.heads()
      made.set(unsafe.number, unsafe.hash)
    }
    const { unsafe: target } = await chain.heads()
    const last = chain.startSubmitter(SUBMITTER_FLAGS)
    const deadlineMs = performance.now() + CATCH_UP_MS
    while ((await chain.heads()).safe.number < target.number) {
      if (performance.now() > deadlineMs)
        throw new Error(
          `block ${target.number} is not safe: ${JSON.stringify(await last.request('admin_batcherStatus'))}`,
        )
      await delay(200)
    }

    const replaced: number[] = []
    for (const [number, hash] of made) if ((await chain.blockHash(number)) !== hash) replaced.push(number)
    const channels = await chain.postedChannels()
    const seconds = Math.round((performance.now() - startedMs) / 1000)
    const newest = Math.max(...channels.flatMap(({ blocks }) => blocks))
    return {
      kills,
      killsWithTxsInPool,
      seed,
      blocks: newest,
      channels: channels.length,
      ...judgeOrder(channels),
      replaced,
      seconds,
    }
  } finally {
    await chain.stop()
  }
}
