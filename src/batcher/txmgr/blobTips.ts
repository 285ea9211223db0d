import type { Clock } from '../../lib/clock.ts'
import type { Logger } from '../../lib/logger.ts'
import type { SubmitterL1 } from '../l1/submitterL1.ts'
import { RepeatedWarnings } from '../submitter/repeatedWarnings.ts'
import type { TxManagerOptions } from './options.ts'

/**
 * Suggests a tip from the tips of recent blob transactions. Builders rank blob transactions differently from others, so
 * the tip that the L1 suggests is usually too high. `suggest` reads each L1 block once.
 */
export class BlobTips {
  private readonly l1: Pick<SubmitterL1, 'head' | 'blobTips'>
  private readonly options: Pick<TxManagerOptions, 'blobTipCapPercentile' | 'blobTipCapRange'>
  private readonly warnings: RepeatedWarnings
  /** Tips by block number. Tips of a block that a reorg replaced are as good. */
  private known = new Map<number, bigint[]>()

  constructor(
    modules: { l1: Pick<SubmitterL1, 'head' | 'blobTips'>; clock: Clock; logger: Logger },
    options: Pick<TxManagerOptions, 'blobTipCapPercentile' | 'blobTipCapRange'>,
  ) {
    this.l1 = modules.l1
    this.options = options
    this.warnings = new RepeatedWarnings(modules)
  }

  /** Wei per gas. `ifNone` if no recent block has a blob transaction. Undefined if the L1's request fails. */
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
      this.warnings.warn('Failed to read the tips of recent blob transactions', error)
      return undefined
    }
    const tips = [...this.known.values()].flat().sort((a, b) => Number(a - b))
    return tips[Math.floor(((tips.length - 1) * percentile) / 100)] ?? ifNone
  }
}
