import type { Clock } from '../../lib/clock.ts'
import type { Logger } from '../../lib/logger.ts'
import { MAX_BLOB_DATA_BYTES } from '../../rollup/protocol/index.ts'
import type { SubmitterL1 } from '../l1/submitterL1.ts'
import { RepeatedWarnings } from '../submitter/repeatedWarnings.ts'
import { type FeeSuggestion, gasPricesOf } from '../txmgr/fees.ts'
import { MAX_BLOBS_PER_TX } from '../txmgr/sidecar.ts'
import type { ChannelConfig } from './channelConfig.ts'

/** EIP-4844, `GAS_PER_BLOB`. */
const GAS_PER_BLOB = 131_072n

/** Cost of posting `bytes` as calldata, in wei. */
export function calldataCost(bytes: number, maxFrameBytes: number, prices: FeeSuggestion): bigint {
  const { perTx, perByte } = gasPricesOf(prices)
  const txs = BigInt(Math.max(1, Math.ceil(bytes / maxFrameBytes)))
  return (txs * perTx + perByte * BigInt(bytes)) * (prices.baseFee + prices.tip)
}

/** Cost of posting `bytes` in blobs, in wei. A partly filled last blob costs as much as a full one. */
export function blobCost(bytes: number, prices: FeeSuggestion): bigint {
  const { baseFee, tip, blobBaseFee = 0n } = prices
  const blobs = Math.max(1, Math.ceil(bytes / (MAX_BLOB_DATA_BYTES - 1)))
  const txs = BigInt(Math.ceil(blobs / MAX_BLOBS_PER_TX))
  return BigInt(blobs) * GAS_PER_BLOB * blobBaseFee + txs * gasPricesOf(prices).perTx * (baseFee + tip)
}

/** Switch only if the other kind costs at most this share: a switch waits for all transactions in flight. */
const SWITCH_AT_PERCENT = 90n
/** Decides whether a channel goes into blobs or calldata, from its real size and the L1's prices. */
export interface DaChoice {
  /** The config with which new channels are built. */
  readonly config: ChannelConfig
  /** Whether all channels are sent with `config`. */
  readonly isFixed: boolean
  /** The config with which a channel of this length is sent. */
  configFor(outputBytes: number): ChannelConfig
  /** Requests prices if the known ones are old. Never rejects: if the request fails, the last prices stay. */
  refresh(signal: AbortSignal): Promise<void>
}

export function fixedChoice(config: ChannelConfig): DaChoice {
  return { config, isFixed: true, configFor: () => config, refresh: async () => {} }
}

export interface CheapestChoiceOptions {
  minTipWei: () => bigint
  maxPriceAgeMs: number
  mustTakeBlobs?: () => boolean
}

/** The cheaper kind. Blobs until the first prices are known. */
export class CheapestChoice implements DaChoice {
  readonly isFixed = false
  private readonly modules: { l1: Pick<SubmitterL1, 'suggestFees'>; clock: Clock; logger: Logger }
  private readonly configs: { blobs: ChannelConfig; calldata: ChannelConfig }
  private readonly warnings: RepeatedWarnings
  private readonly options: CheapestChoiceOptions
  private prices: FeeSuggestion | undefined
  private pricesAtMs = Number.NEGATIVE_INFINITY
  config: ChannelConfig

  constructor(
    modules: { l1: Pick<SubmitterL1, 'suggestFees'>; clock: Clock; logger: Logger },
    configs: { blobs: ChannelConfig; calldata: ChannelConfig },
    options: CheapestChoiceOptions,
  ) {
    this.modules = modules
    this.configs = configs
    this.warnings = new RepeatedWarnings(modules)
    this.options = options
    this.config = configs.blobs
  }

  configFor(outputBytes: number): ChannelConfig {
    const { prices, configs } = this
    if (this.options.mustTakeBlobs?.()) {
      this.config = configs.blobs
      return this.config
    }
    if (prices === undefined) return this.config
    const minTip = this.options.minTipWei()
    const paid = { ...prices, tip: prices.tip > minTip ? prices.tip : minTip }
    const asCalldata = calldataCost(outputBytes, configs.calldata.maxFrameBytes, paid)
    const inBlobs = paid.blobBaseFee === undefined ? undefined : blobCost(outputBytes, paid)
    const next = this.config.useBlobs
      ? inBlobs === undefined || asCalldata * 100n <= inBlobs * SWITCH_AT_PERCENT
        ? configs.calldata
        : configs.blobs
      : inBlobs !== undefined && inBlobs * 100n <= asCalldata * SWITCH_AT_PERCENT
        ? configs.blobs
        : configs.calldata
    if (next !== this.config) {
      this.modules.logger.info(next.useBlobs ? 'Using blob channel config' : 'Using calldata channel config', {
        bytes: outputBytes,
        calldata_cost_gwei: Number(asCalldata / 1_000_000_000n),
        blob_cost_gwei: inBlobs === undefined ? undefined : Number(inBlobs / 1_000_000_000n),
      })
      this.config = next
    }
    return next
  }

  async refresh(signal: AbortSignal): Promise<void> {
    const { l1, clock } = this.modules
    // The clock may have been set back.
    if (Math.abs(clock.now() - this.pricesAtMs) < this.options.maxPriceAgeMs) return
    try {
      this.prices = await l1.suggestFees(undefined, signal)
      this.pricesAtMs = clock.now()
    } catch (error) {
      if (!signal.aborted) this.warnings.warn('Failed to read the L1 prices of calldata and blobs', error)
    }
  }
}
