import type { L1BlockInfo, RollupConfig } from '../types.ts'

/** The update fraction of the blob base fee that applies from `time` on (EIP-4844, EIP-7691, EIP-7892). */
export interface BlobScheduleEntry {
  time: number
  updateFraction: bigint
}

const CANCUN_UPDATE_FRACTION = 3_338_477n
const PRAGUE_UPDATE_FRACTION = 5_007_716n
/** EIP-7892 blob-parameter-only forks of the public networks (EIP-8134 and EIP-8135). */
const BPO1_UPDATE_FRACTION = 8_346_193n
const BPO2_UPDATE_FRACTION = 11_684_671n

const SCHEDULES = new Map<bigint, readonly BlobScheduleEntry[]>([
  [1n, publicSchedule(1_746_612_311, 1_765_290_071, 1_767_747_671)],
  [11_155_111n, publicSchedule(1_741_159_776, 1_761_017_184, 1_761_607_008)],
  [560_048n, publicSchedule(1_742_999_832, 1_762_365_720, 1_762_955_544)],
])
const CANCUN_ONLY: readonly BlobScheduleEntry[] = [{ time: 0, updateFraction: CANCUN_UPDATE_FRACTION }]

/** Whether the blob fee parameters of this L1 are built in (public networks only). */
export function hasKnownBlobSchedule(l1ChainId: bigint): boolean {
  return SCHEDULES.has(l1ChainId)
}

/** Wei per blob gas: fake_exponential(1, excess, fraction) of EIP-4844. */
export function blobBaseFee(excessBlobGas: bigint, updateFraction: bigint): bigint {
  let term = updateFraction
  let sum = 0n
  for (let i = 1n; term > 0n; i++) {
    sum += term
    term = (term * excessBlobGas) / (updateFraction * i)
  }
  return sum / updateFraction
}

/**
 * Blob base fee of an L1 block, as L2 records it. The schedule comes from the rollup config, else from the public L1
 * network, else from Cancun; a rollup node does not start without one of the first two. Cancun's fraction also applies
 * before `pectraBlobScheduleTime`. Returns 1 if the block has no excess blob gas.
 */
export function l1BlobBaseFee(config: RollupConfig, block: Pick<L1BlockInfo, 'timestamp' | 'excessBlobGas'>): bigint {
  if (block.excessBlobGas === undefined) return 1n
  return blobBaseFee(block.excessBlobGas, blobUpdateFraction(config, block.timestamp))
}

/** Whether the schedule of this L1 has an entry at this time. */
export function changesBlobsAt(config: RollupConfig, l1Time: number): boolean {
  return scheduleOf(config).some(({ time }) => time === l1Time)
}

function scheduleOf(config: RollupConfig): readonly BlobScheduleEntry[] {
  return config.l1BlobSchedule ?? SCHEDULES.get(config.l1ChainId) ?? CANCUN_ONLY
}

/** The update fraction of the blob base fee at an L1 time. */
export function blobUpdateFraction(config: RollupConfig, l1Time: number): bigint {
  if (config.pectraBlobScheduleTime !== undefined && l1Time < config.pectraBlobScheduleTime) {
    return CANCUN_UPDATE_FRACTION
  }
  let fraction = CANCUN_UPDATE_FRACTION
  for (const entry of scheduleOf(config)) if (l1Time >= entry.time) fraction = entry.updateFraction
  return fraction
}

function publicSchedule(prague: number, bpo1: number, bpo2: number): BlobScheduleEntry[] {
  return [
    { time: 0, updateFraction: CANCUN_UPDATE_FRACTION },
    { time: prague, updateFraction: PRAGUE_UPDATE_FRACTION },
    { time: bpo1, updateFraction: BPO1_UPDATE_FRACTION },
    { time: bpo2, updateFraction: BPO2_UPDATE_FRACTION },
  ]
}
