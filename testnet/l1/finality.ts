/** L1 blocks become final only after Anvil has written them, since L2 never reverts what final blocks hold. */
const FINALITY_SECONDS = 15

/** The safe and the finalized block of L1 are one and two epochs behind the head. */
export function slotsInAnEpoch(l1BlockTime: number): number {
  return Math.ceil(FINALITY_SECONDS / (2 * l1BlockTime))
}
