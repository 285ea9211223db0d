/** The slot times of a beacon chain. Slot 0 starts at the genesis time. */
export interface SlotTimes {
  /** Unix seconds. */
  genesisTime: number
  secondsPerSlot: number
}

export function slotAt({ genesisTime, secondsPerSlot }: SlotTimes, timestamp: number): number {
  return Math.floor((timestamp - genesisTime) / secondsPerSlot)
}

export function timeOfSlot({ genesisTime, secondsPerSlot }: SlotTimes, slot: number): number {
  return genesisTime + slot * secondsPerSlot
}

/** The first slot after the head's slot that has not ended. Missed slots, for example during a pause, stay empty. */
export function nextSlot(times: SlotTimes, headTimestamp: number, nowMs: number): number {
  const first = Math.ceil((nowMs / 1000 - times.genesisTime) / times.secondsPerSlot)
  return Math.max(slotAt(times, headTimestamp) + 1, first)
}

/** L1 blocks become final only after Anvil has written them, since L2 never reverts what final blocks hold. */
const FINALITY_SECONDS = 15

/** The safe and the finalized block of L1 are one and two epochs behind the head. */
export function slotsInAnEpoch(l1BlockTime: number): number {
  return Math.ceil(FINALITY_SECONDS / (2 * l1BlockTime))
}
