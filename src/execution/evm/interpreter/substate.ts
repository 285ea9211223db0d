import type { Hex } from '../../../lib/hex.ts'
import type { Log } from '../../chain/block.ts'
import type { Word } from './word.ts'

/** Where a transaction stood, to go back to. */
export interface Mark {
  undo: number
  logs: number
  refund: number
}

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
  readonly warmAddresses = new Set<Hex>()
  readonly warmSlots = new Map<Hex, Set<Hex>>()
  private readonly transient = new Map<Hex, Map<Hex, Word>>()
  private readonly undo: (() => void)[] = []

  mark(): Mark {
    return { undo: this.undo.length, logs: this.logs.length, refund: this.refund }
  }

  goBack({ undo, logs, refund }: Mark): void {
    for (let index = this.undo.length - 1; index >= undo; index--) this.undo[index]?.()
    this.undo.length = undo
    this.logs.length = logs
    this.refund = refund
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
    const values = slots
    const before = values.get(slot) ?? 0
    if (before === value) return
    values.set(slot, value)
    this.undo.push(() => values.set(slot, before))
  }

  private add(set: Set<Hex>, key: Hex): boolean {
    if (set.has(key)) return false
    set.add(key)
    this.undo.push(() => set.delete(key))
    return true
  }
}
