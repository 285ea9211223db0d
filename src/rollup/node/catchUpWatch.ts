import { type Clock, sleep } from '../../lib/clock.ts'
import type { Logger } from '../../lib/logger.ts'
import { Progress, progressInLog } from '../../lib/progress.ts'
import type { DerivationStatus } from './derivationStatus.ts'

/** Interval between checks of the status. */
const CHECK_INTERVAL_MS = 2_000
/** Number of L1 blocks behind the last readable block from which derivation counts as catching up. */
const BEHIND_L1_BLOCKS = 3

type Status = Pick<DerivationStatus, 'l1Head' | 'currentL1' | 'confirmations' | 'record' | 'safe'>

/** While derivation is behind L1, logs its progress, rate and remaining time at intervals. */
export function createCatchUpWatch(modules: { status: () => Status; clock: Clock; logger: Logger }) {
  const { status, clock } = modules
  const logger = modules.logger.child({ module: 'derivation' })
  let underWay: { progress: Progress; from: number; sinceMs: number } | undefined

  const end = (l1: number): void => {
    const ended = underWay
    underWay = undefined
    if (ended?.progress.wasShown !== true) return
    const seconds = Math.round((clock.now() - ended.sinceMs) / 1000)
    logger.info('Derivation has caught up with L1', { l1, l1Blocks: l1 - ended.from, seconds })
  }

  const check = (): void => {
    const { l1Head, currentL1, confirmations, record, safe } = status()
    // The position is unknown while heads are being found.
    if (l1Head === undefined || currentL1 === undefined) return
    const readable = l1Head.number - confirmations
    if (readable - currentL1.number < BEHIND_L1_BLOCKS) {
      end(currentL1.number)
      return
    }
    // Derivation waits for L1.
    if (record.isIdle) return
    // A reset went back, so the progress starts again.
    if (underWay === undefined || currentL1.number < underWay.from) {
      const parts = { clock, sink: progressInLog(logger) }
      const progress = new Progress(parts, { what: 'Deriving from L1', unit: 'l1Blocks' })
      underWay = { progress, from: currentL1.number, sinceMs: clock.now() }
    }
    const { progress, from } = underWay
    const fields = () => ({ l1: currentL1.number, l1Head: l1Head.number, safe: safe?.number })
    progress.advance(currentL1.number - from, { total: readable - from, fields })
  }

  return {
    check,
    /** Runs until the signal aborts. */
    async run(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        check()
        await sleep(clock, CHECK_INTERVAL_MS, signal).catch(() => undefined)
      }
    },
  }
}
