/** L1 blocks are final only when a crash can no longer undo them: L2 would never leave what it holds for final. */
const FINALITY_SECONDS = 15

/** The safe and the finalized block of L1 are one and two epochs behind the head. */
export function slotsInAnEpoch(l1BlockTime: number): number {
  return Math.ceil(FINALITY_SECONDS / (2 * l1BlockTime))
}
