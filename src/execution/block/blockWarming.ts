import type { Hex } from '../../lib/hex.ts'
import {
  BASE_FEE_VAULT_ADDRESS,
  L1_FEE_VAULT_ADDRESS,
  OPERATOR_FEE_VAULT_ADDRESS,
} from '../../rollup/protocol/constants.ts'
import type { Substate } from '../evm/interpreter/substate.ts'

/** By account: which transaction of the block reached it first, and each of its slots. */
type Warmed = Map<Hex, { by: number; slots: Map<Hex, number> }>

/** An access that was paid for as cold, and that an earlier transaction of the block had warmed. */
export interface WarmedAccess {
  address: Hex
  /** undefined: the account. */
  slot: Hex | undefined
  /** Gas above the price of a warm access. */
  surcharge: number
  /** Index of the transaction that had reached it first. */
  warmedBy: number
}

/** Every transaction with a fee pays into these. */
const FEE_VAULTS = [BASE_FEE_VAULT_ADDRESS, L1_FEE_VAULT_ADDRESS, OPERATOR_FEE_VAULT_ADDRESS]

/** Accounts and slots that the transactions of a block have reached so far, deposits included, in whatever frame. */
export class BlockWarming {
  private readonly warmed: Warmed = new Map()

  /** Watches the transaction of this index, which is about to run. */
  watch(substate: Substate, index: number): WatchedTransaction {
    return new WatchedTransaction(this.warmed, substate, index)
  }
}

/** One transaction of the block. What it reaches is warm for later ones only once it is `keep`t. */
export class WatchedTransaction {
  /** In the order in which they were paid for. */
  readonly accesses: WarmedAccess[] = []
  private readonly warmed: Warmed
  private readonly substate: Substate
  private readonly index: number
  private readonly reached: [address: Hex, slot: Hex | undefined][] = []

  constructor(warmed: Warmed, substate: Substate, index: number) {
    this.warmed = warmed
    this.substate = substate
    this.index = index
    substate.onColdPaid = (address, slot, surcharge) => this.notePaid(address, slot, surcharge)
  }

  /**
   * Gas to refund: what the transaction paid for cold accesses above the price of warm ones, where an earlier transaction had
   * reached the same. An access that its own sender, recipient or access list makes warm was never paid as cold.
   *
   * The refund comes off the gas that counts after the cap of EIP-3529 and the floor of EIP-7623, as in op-reth's design: neither
   * is worked out again, and the transaction may pay less than the floor. It is limited to the gas used. (With storage that is
   * cleared the surcharges can come to more than the four fifths that EIP-3529 leaves.)
   */
  refundOf(gasUsed: bigint): bigint {
    const surcharges = BigInt(this.accesses.reduce((sum, { surcharge }) => sum + surcharge, 0))
    return surcharges < gasUsed ? surcharges : gasUsed
  }

  /** The transaction is part of the block. */
  keep({ paysFees }: { paysFees: boolean }): void {
    const { warmAddresses, warmSlots } = this.substate
    for (const address of warmAddresses) this.warm(address, undefined)
    for (const [address, slots] of warmSlots) for (const slot of slots) this.warm(address, slot)
    // A frame that fails makes it cold again for its transaction, not for the block.
    for (const [address, slot] of this.reached) this.warm(address, slot)
    if (paysFees) for (const vault of FEE_VAULTS) this.warm(vault, undefined)
  }

  private notePaid(address: Hex, slot: Hex | undefined, surcharge: number): void {
    const before = this.warmed.get(address)
    const warmedBy = slot === undefined ? before?.by : before?.slots.get(slot)
    if (warmedBy !== undefined) this.accesses.push({ address, slot, surcharge, warmedBy })
    this.reached.push([address, slot])
  }

  private warm(address: Hex, slot: Hex | undefined): void {
    let account = this.warmed.get(address)
    if (account === undefined) {
      account = { by: this.index, slots: new Map() }
      this.warmed.set(address, account)
    }
    if (slot !== undefined && !account.slots.has(slot)) account.slots.set(slot, this.index)
  }
}
