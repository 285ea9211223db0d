import type { Clock } from '../../lib/clock.ts'
import type { Logger } from '../../lib/logger.ts'
import type { SubmitterL1 } from '../l1/submitterL1.ts'
import { RepeatedWarnings } from '../submitter/repeatedWarnings.ts'
import type { TxManagerOptions } from './options.ts'

/**
 * What blob transactions tip: block builders take them by other measures than transactions that fill a block's gas, so
 * the tip that the L1 suggests for those is most often too much. Blocks are read when a tip is asked for, each one once.
 */
export class BlobTips {
  private readonly l1: Pick<SubmitterL1, 'head' | 'blobTips'>
  private readonly options: Pick<TxManagerOptions, 'blobTipCapPercentile' | 'blobTipCapRange'>
  private readonly warnings: RepeatedWarnings
  /** By block number. One that a reorg replaced is as good for this. */
  private known = new Map<number, bigint[]>()

  constructor(
    modules: { l1: Pick<SubmitterL1, 'head' | 'blobTips'>; clock: Clock; logger: Logger },
    options: Pick<TxManagerOptions, 'blobTipCapPercentile' | 'blobTipCapRange'>,
  ) {
    this.l1 = modules.l1
    this.options = options
    this.warnings = new RepeatedWarnings(modules)
  }

  /** Wei per gas; `ifNone` when there was no blob transaction, undefined when the L1 does not tell. */
  async suggest(ifNone: bigint, signal: AbortSignal): Promise<bigint | undefined> {
    const { blobTipCapPercentile: percentile, blobTipCapRange: range } = this.options
    try {
      const { number: head } = await this.l1.head(signal)
      const numbers = Array.from({ length: Math.min(range, head + 1) }, (_, index) => head - index)
      const missing = numbers.filter((number) => !this.known.has(number))
      const read = missing.length === 0 ? [] : await this.l1.blobTips(missing, signal)
      const all = new Map([...this.known, ...missing.map((number, index) => [number, read[index] ?? []] as const)])
      this.known = new Map(numbers.map((number) => [number, all.get(number) ?? []]))
    } catch (error) {
      signal.throwIfAborted()
      this.warnings.warn('Unable to read what other blob transactions tip', error)
      return undefined
    }
    const tips = [...this.known.values()].flat().sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))
    return tips[Math.floor(((tips.length - 1) * percentile) / 100)] ?? ifNone
  }
}
