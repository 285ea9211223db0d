import type { Hex } from '../../lib/hex.ts'
import {
  BASE_FEE_VAULT_ADDRESS,
  L1_FEE_VAULT_ADDRESS,
  OPERATOR_FEE_VAULT_ADDRESS,
} from '../../rollup/protocol/constants.ts'
import type { Substate } from '../evm/interpreter/substate.ts'

/** Accounts, and their slots. */
type Accesses = Map<Hex, Set<Hex>>

/** Every transaction with a fee pays into these. */
const FEE_VAULTS = [BASE_FEE_VAULT_ADDRESS, L1_FEE_VAULT_ADDRESS, OPERATOR_FEE_VAULT_ADDRESS]

/** What the transactions of a block so far have reached, deposits included, in whatever frame: its state is at hand since then. */
export class BlockWarming {
  private readonly warmed: Accesses = new Map()

  /** Watches the transaction that is about to run. */
  watch(substate: Substate): WatchedTransaction {
    return new WatchedTransaction(this.warmed, substate)
  }
}

/** One transaction of the block. What it reaches is warm for later ones only once it is `keep`t. */
export class WatchedTransaction {
  private readonly warmed: Accesses
  private readonly substate: Substate
  private readonly reached: Accesses = new Map()
  private surcharges = 0

  constructor(warmed: Accesses, substate: Substate) {
    this.warmed = warmed
    this.substate = substate
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
    const surcharges = BigInt(this.surcharges)
    return surcharges < gasUsed ? surcharges : gasUsed
  }

  /** The transaction is part of the block. */
  keep({ paysFees }: { paysFees: boolean }): void {
    const { warmAddresses, warmSlots } = this.substate
    for (const address of warmAddresses) slotsOf(this.warmed, address)
    for (const [address, slots] of [...warmSlots, ...this.reached]) {
      const warmed = slotsOf(this.warmed, address)
      for (const slot of slots) warmed.add(slot)
    }
    if (paysFees) for (const vault of FEE_VAULTS) slotsOf(this.warmed, vault)
  }

  private notePaid(address: Hex, slot: Hex | undefined, surcharge: number): void {
    const before = this.warmed.get(address)
    if (slot === undefined ? before !== undefined : before?.has(slot)) this.surcharges += surcharge
    // A frame that fails makes it cold again for its transaction, not for the block.
    const slots = slotsOf(this.reached, address)
    if (slot !== undefined) slots.add(slot)
  }
}

function slotsOf(accesses: Accesses, address: Hex): Set<Hex> {
  let slots = accesses.get(address)
  if (slots === undefined) {
    slots = new Set()
    accesses.set(address, slots)
  }
  return slots
}
