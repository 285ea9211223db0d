import type { TxCursor } from '../chain/building.ts'
import { effectiveTip } from '../tx/effectiveTip.ts'
import type { PoolEntry } from './senderQueue.ts'

interface Lane {
  entries: readonly PoolEntry[]
  position: number
  tip: bigint
}

/**
 * Iterates over executable transactions by decreasing effective tip (earlier arrival first if equal), each sender's in
 * nonce order. A sender is skipped from its first transaction on that pays less than `minTip`.
 */
export function createTxCursor(senders: Iterable<readonly PoolEntry[]>, baseFee: bigint, minTip: bigint): TxCursor {
  const heap: Lane[] = []

  /** Loads the tip of the lane's current transaction. False if the lane is exhausted or the tip is too low. */
  const load = (lane: Lane): boolean => {
    const entry = lane.entries[lane.position]
    if (entry === undefined) return false
    lane.tip = effectiveTip(entry.transaction, baseFee)
    return lane.tip >= minTip && lane.tip >= 0n
  }
  const before = (a: Lane, b: Lane): boolean => {
    if (a.tip !== b.tip) return a.tip > b.tip
    return (a.entries[a.position]?.sequence ?? 0) < (b.entries[b.position]?.sequence ?? 0)
  }
  const sink = (from: number): void => {
    const lane = heap[from]
    if (lane === undefined) return
    let position = from
    for (;;) {
      const left = heap[2 * position + 1]
      const right = heap[2 * position + 2]
      const child = right !== undefined && left !== undefined && before(right, left) ? right : left
      if (child === undefined || !before(child, lane)) break
      const childPosition = child === left ? 2 * position + 1 : 2 * position + 2
      heap[position] = child
      position = childPosition
    }
    heap[position] = lane
  }
  const dropTop = (): void => {
    const last = heap.pop()
    if (last === undefined || heap.length === 0) return
    heap[0] = last
    sink(0)
  }

  for (const entries of senders) {
    const lane = { entries, position: 0, tip: 0n }
    if (load(lane)) heap.push(lane)
  }
  for (let position = (heap.length >> 1) - 1; position >= 0; position--) sink(position)

  return {
    peek() {
      const top = heap[0]
      return top?.entries[top.position]?.transaction
    },
    next() {
      const top = heap[0]
      if (top === undefined) return
      top.position++
      if (load(top)) sink(0)
      else dropTop()
    },
    skipSender: dropTop,
  }
}
