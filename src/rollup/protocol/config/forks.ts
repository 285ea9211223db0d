import { DeviumError } from '../../../lib/errors.ts'
import { FORKS, type Fork, type RollupConfig } from '../types.ts'

/** Seconds, since Fjord (specs: fjord/derivation, "Constant maximum sequencer drift"). */
const FJORD_MAX_SEQUENCER_DRIFT = 1800
/** L1 blocks, since Granite (specs: granite/derivation, "Network upgrade: channel timeout"). */
const GRANITE_CHANNEL_TIMEOUT = 50
const MAX_RLP_BYTES_PER_CHANNEL = { bedrock: 10_000_000, fjord: 100_000_000 }
const MAX_CHANNEL_BANK_SIZE = { bedrock: 100_000_000, fjord: 1_000_000_000 }

const FORK_INDEX = Object.fromEntries(FORKS.map((fork, index) => [fork, index])) as Record<Fork, number>

/** Whether the rules of `fork` apply at this time. An active later fork implies the earlier forks. */
export function isForkActive(config: Pick<RollupConfig, 'forks'>, fork: Fork, time: number): boolean {
  for (let index = FORK_INDEX[fork]; index < FORKS.length; index++) {
    const activation = config.forks[FORKS[index] ?? fork]
    if (activation !== undefined && time >= activation) return true
  }
  return false
}

/** Whether the L2 block at `l2Time` is the first block of `fork`. False if the fork is active at genesis. */
export function isForkActivationBlock(
  config: Pick<RollupConfig, 'forks' | 'blockTime'>,
  fork: Fork,
  l2Time: number,
): boolean {
  return (
    l2Time >= config.blockTime &&
    isForkActive(config, fork, l2Time) &&
    !isForkActive(config, fork, l2Time - config.blockTime)
  )
}

/** Timestamp of the L2 block with this number. */
export function l2BlockTime(config: RollupConfig, number: number): number {
  return config.genesis.l2Time + (number - config.genesis.l2.number) * config.blockTime
}

/**
 * Number of the last L2 block at or before `time`. Throws DeviumError (`before-genesis`) if `time` is before genesis.
 */
export function l2BlockNumberAt(config: RollupConfig, time: number): number {
  const { l2Time, l2 } = config.genesis
  if (time < l2Time) throw new DeviumError('before-genesis', `time ${time} is before the L2 genesis time ${l2Time}`)
  return l2.number + Math.floor((time - l2Time) / config.blockTime)
}

/** L1 blocks after which a channel times out, at the time of the pipeline's L1 block. */
export function channelTimeout(config: RollupConfig, l1Time: number): number {
  return isForkActive(config, 'granite', l1Time) ? GRANITE_CHANNEL_TIMEOUT : config.channelTimeout
}

/** Seconds that L2 may be ahead of its L1 origin; `l1Time` is the origin's time. */
export function maxSequencerDrift(config: RollupConfig, l1Time: number): number {
  return isForkActive(config, 'fjord', l1Time) ? FJORD_MAX_SEQUENCER_DRIFT : config.maxSequencerDrift
}

/** Maximum bytes of decompressed channel data (specs: derivation, "Channel format"). */
export function maxRlpBytesPerChannel(config: RollupConfig, l1Time: number): number {
  return isForkActive(config, 'fjord', l1Time) ? MAX_RLP_BYTES_PER_CHANNEL.fjord : MAX_RLP_BYTES_PER_CHANNEL.bedrock
}

/** Total bytes of all channels before the oldest is dropped. Not used since Holocene. */
export function maxChannelBankSize(config: RollupConfig, l1Time: number): number {
  return isForkActive(config, 'fjord', l1Time) ? MAX_CHANNEL_BANK_SIZE.fjord : MAX_CHANNEL_BANK_SIZE.bedrock
}
