import type { BlockId, SyncStatus } from '../../rollup/protocol/types.ts'

type Ref = BlockId & { parentHash: string }

/** A head that left the chain that it was on. */
export interface Reorg {
  layer: 'L1' | 'L2'
  /** Blocks between the old head and the new one's height; at least 1. */
  depth: number
  from: number
  to: number
}

/** Compares each head with the head before, and tells which of them left their chain. */
export function createHeadWatch(): (status: Pick<SyncStatus, 'headL1' | 'unsafeL2'>) => Reorg[] {
  const last: { L1?: Ref; L2?: Ref } = {}
  const look = (layer: Reorg['layer'], head: Ref): Reorg[] => {
    // Zero while a reset is under way: the head is looked for.
    if (/^0x0*$/.test(head.hash)) return []
    const before = last[layer]
    last[layer] = head
    if (before === undefined || before.hash === head.hash || head.parentHash === before.hash) return []
    // Heads may skip blocks upwards; only the next height tells its parent.
    if (head.number > before.number + 1) return []
    const depth = before.number - head.number + 1
    return [{ layer, depth: Math.max(1, depth), from: before.number, to: head.number }]
  }
  return ({ headL1, unsafeL2 }) => [...look('L1', headL1), ...look('L2', unsafeL2)]
}
