import type { Hex } from '../../../lib/hex.ts'
import type { Log } from '../../primitives/block.ts'
import type { Word } from './word.ts'

/** A point in a transaction to revert to. */
export interface Mark {
  changes: number
  logs: number
  refund: number
}

/** Transient stores cost 100 gas. A block has gas for 280,000 stores, which take 60 ms to revert. */
const CHANGES_PER_YIELD = 16_384

/** The data of a transaction beside the state. A failed frame's changes are reverted. */
export class Substate {
  readonly logs: Omit<Log, 'logIndex'>[] = []
  /** May be negative during the transaction. */
  refund = 0
  readonly destroyed = new Set<Hex>()
  readonly created = new Set<Hex>()
  /** All accounts and slots that were cold when reached, even by failed frames. Set if a caller needs it. */
  reached: Map<Hex, Set<Hex>> | undefined
  /**
   * Called for each cold access that was paid: the account or slot, and the gas above a warm access. Set if the block
   * refunds it.
   */
  onColdPaid: ((address: Hex, slot: Hex | undefined, surcharge: number) => void) | undefined
  readonly warmAddresses = new Set<Hex>()
  readonly warmSlots = new Map<Hex, Set<Hex>>()
  private readonly transient = new Map<Hex, Map<Hex, Word>>()
  /**
   * The journal: the changed container, the key, and the value before. Entries of a set did not exist before. Closures
   * would be much garbage.
   */
  private readonly changed: (Set<Hex> | Map<Hex, Word>)[] = []
  private readonly changedKeys: Hex[] = []
  private readonly before: Word[] = []

  mark(): Mark {
    return { changes: this.changed.length, logs: this.logs.length, refund: this.refund }
  }

  revertTo(mark: Mark): void {
    while (!this.revertSome(mark)) {}
    this.logs.length = mark.logs
    this.refund = mark.refund
  }

  /** Reverts a part, so that the event loop is not blocked. Returns whether all is reverted. */
  revertSome({ changes }: Mark): boolean {
    const end = Math.max(changes, this.changed.length - CHANGES_PER_YIELD)
    while (this.changed.length > end) {
      const container = this.changed.pop()
      const key = this.changedKeys.pop()
      const before = this.before.pop() ?? 0
      if (key === undefined) continue
      if (container instanceof Set) container.delete(key)
      else container?.set(key, before)
    }
    return end === changes
  }

  /** Returns whether it was cold (EIP-2929). */
  warmAddress(address: Hex): boolean {
    if (!this.add(this.warmAddresses, address)) return false
    if (this.reached !== undefined && !this.reached.has(address)) this.reached.set(address, new Set())
    return true
  }

  /** Returns whether it was cold. */
  warmSlot(address: Hex, slot: Hex): boolean {
    let slots = this.warmSlots.get(address)
    if (slots === undefined) {
      slots = new Set()
      this.warmSlots.set(address, slots)
    }
    if (!this.add(slots, slot)) return false
    if (this.reached !== undefined) {
      const reached = this.reached.get(address) ?? new Set()
      this.reached.set(address, reached.add(slot))
    }
    return true
  }

  noteCreated(address: Hex): void {
    this.add(this.created, address)
  }

  noteDestroyed(address: Hex): void {
    this.add(this.destroyed, address)
  }

  /** EIP-1153. */
  transientLoad(address: Hex, slot: Hex): Word {
    return this.transient.get(address)?.get(slot) ?? 0
  }

  transientStore(address: Hex, slot: Hex, value: Word): void {
    let slots = this.transient.get(address)
    if (slots === undefined) {
      slots = new Map()
      this.transient.set(address, slots)
    }
    const before = slots.get(slot) ?? 0
    if (before === value) return
    slots.set(slot, value)
    this.note(slots, slot, before)
  }

  private add(set: Set<Hex>, key: Hex): boolean {
    if (set.has(key)) return false
    set.add(key)
    this.note(set, key, 0)
    return true
  }

  private note(container: Set<Hex> | Map<Hex, Word>, key: Hex, before: Word): void {
    this.changed.push(container)
    this.changedKeys.push(key)
    this.before.push(before)
  }
}
