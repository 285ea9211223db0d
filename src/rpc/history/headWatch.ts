import type { BlockId, SyncStatus } from '../../rollup/protocol/types.ts'

type Ref = BlockId & { parentHash: string }

/** A head that moved to another branch. */
export interface Reorg {
  layer: 'L1' | 'L2'
  /** Number of abandoned blocks, from the old head down to the new head's height; at least 1. */
  depth: number
  from: number
  to: number
}

/** Compares each head with the one before and returns the reorgs. */
export function createHeadWatch(): (status: Pick<SyncStatus, 'headL1' | 'unsafeL2'>) => Reorg[] {
  const last: { L1?: Ref; L2?: Ref } = {}
  const check = (layer: Reorg['layer'], head: Ref): Reorg[] => {
    // The hash is zero during a reset, until the head is found.
    if (/^0x0*$/.test(head.hash)) return []
    const before = last[layer]
    last[layer] = head
    if (before === undefined || before.hash === head.hash || head.parentHash === before.hash) return []
    // A head may skip blocks upwards. Only a head at the next height proves its parent.
    if (head.number > before.number + 1) return []
    const depth = before.number - head.number + 1
    return [{ layer, depth: Math.max(1, depth), from: before.number, to: head.number }]
  }
  return ({ headL1, unsafeL2 }) => [...check('L1', headL1), ...check('L2', unsafeL2)]
}
