import { applySystemConfigUpdates } from '../protocol/index.ts'
import type { L1BlockInfo, L1BlockRef, RollupConfig, SystemConfig } from '../protocol/types.ts'
import { DerivationError } from './errors.ts'
import type { L1Source } from './types.ts'

/** Lowest stage: holds the current L1 block and the SystemConfig at that block (specs: derivation, "L1 Traversal"). */
export class L1Traversal {
  private readonly l1: Pick<L1Source, 'blockInfoByNumber' | 'receipts'>
  private readonly config: RollupConfig
  private current: L1BlockRef
  private currentSystemConfig: SystemConfig

  /** `systemConfig` includes the updates of `origin`. */
  constructor(
    l1: Pick<L1Source, 'blockInfoByNumber' | 'receipts'>,
    opts: { config: RollupConfig; origin: L1BlockRef; systemConfig: SystemConfig },
  ) {
    this.l1 = l1
    this.config = opts.config
    this.current = opts.origin
    this.currentSystemConfig = opts.systemConfig
  }

  get origin(): L1BlockRef {
    return this.current
  }

  get systemConfig(): SystemConfig {
    return this.currentSystemConfig
  }

  /** Moves to the next L1 block. Returns false if it does not exist yet. Throws `l1-reorg` (reset). */
  async advance(): Promise<boolean> {
    const next = await this.l1.blockInfoByNumber(this.current.number + 1)
    if (next === undefined) return false
    if (next.parentHash !== this.current.hash) {
      throw new DerivationError(
        'l1-reorg',
        'reset',
        `detected L1 reorg: block ${next.number} (${next.hash}) has parent ${next.parentHash}, but derivation is at ${this.current.hash}`,
      )
    }
    const { receipts } = await this.l1.receipts(next.hash)
    this.currentSystemConfig = applySystemConfigUpdates(this.currentSystemConfig, receipts, this.config, next.timestamp)
    this.current = toL1Ref(next)
    return true
  }
}

export function toL1Ref({ hash, number, parentHash, timestamp }: L1BlockInfo): L1BlockRef {
  return { hash, number, parentHash, timestamp }
}
