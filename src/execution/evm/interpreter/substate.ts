import type { Hex } from '../../../lib/hex.ts'
import type { Log } from '../../primitives/block.ts'
import type { Word } from './word.ts'

/** Where a transaction stood, to go back to. */
export interface Mark {
  changes: number
  logs: number
  refund: number
}

/** Transient stores cost 100 gas: a block has room for 280,000, which take 60 ms to undo. */
const CHANGES_PER_TURN = 16_384

/** What a transaction gathers besides the state; whatever a failed frame added goes with it. */
export class Substate {
  readonly logs: Omit<Log, 'logIndex'>[] = []
  /** May fall below zero on the way. */
  refund = 0
  /** Contracts that destroyed themselves. */
  readonly destroyed = new Set<Hex>()
  /** Contracts made by this transaction. */
  readonly created = new Set<Hex>()
  /** All that was cold when it was reached, also by frames that failed; set where somebody asks for it. */
  reached: Map<Hex, Set<Hex>> | undefined
  /**
   * Told of each cold access that was paid for: of an account, or of one of its slots, and the gas above a warm access. Set where a
   * block refunds that.
   */
  onColdPaid: ((address: Hex, slot: Hex | undefined, surcharge: number) => void) | undefined
  readonly warmAddresses = new Set<Hex>()
  readonly warmSlots = new Map<Hex, Set<Hex>>()
  private readonly transient = new Map<Hex, Map<Hex, Word>>()
  /** What has changed, by whose key, and what stood there; a set's entries were not there. A function each would be much garbage. */
  private readonly changed: (Set<Hex> | Map<Hex, Word>)[] = []
  private readonly changedKeys: Hex[] = []
  private readonly before: Word[] = []

  mark(): Mark {
    return { changes: this.changed.length, logs: this.logs.length, refund: this.refund }
  }

  goBack(mark: Mark): void {
    while (!this.goBackSome(mark)) {}
    this.logs.length = mark.logs
    this.refund = mark.refund
  }

  /** The first part of it, where it would hold the event loop; true once that has been all. */
  goBackSome({ changes }: Mark): boolean {
    const end = Math.max(changes, this.changed.length - CHANGES_PER_TURN)
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

  /** True when it was cold (EIP-2929). */
  warmAddress(address: Hex): boolean {
    if (!this.add(this.warmAddresses, address)) return false
    if (this.reached !== undefined && !this.reached.has(address)) this.reached.set(address, new Set())
    return true
  }

  /** True when it was cold. */
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
