import type { Hex } from '../../lib/hex.ts'
import {
  BASE_FEE_VAULT_ADDRESS,
  L1_FEE_VAULT_ADDRESS,
  OPERATOR_FEE_VAULT_ADDRESS,
} from '../../rollup/protocol/constants.ts'
import type { Substate } from '../evm/interpreter/substate.ts'

/**
 * Accounts and slots that the transactions of a block have reached so far, deposits and failed frames included. By
 * account: the index of the transaction that reached it first, and the same for each of its slots.
 */
export type Warmed = Map<Hex, { by: number; slots: Map<Hex, number> }>

/** An access charged as cold although an earlier transaction of the block had reached it. */
export interface WarmedAccess {
  address: Hex
  /** Undefined: the account itself. */
  slot: Hex | undefined
  /** Gas above the price of a warm access. */
  surcharge: number
  /** Index of the first transaction that reached it. */
  warmedBy: number
}

/** Each transaction with a fee pays into these vaults. */
const FEE_VAULTS = [BASE_FEE_VAULT_ADDRESS, L1_FEE_VAULT_ADDRESS, OPERATOR_FEE_VAULT_ADDRESS]

/**
 * One transaction of the block. Create it before the transaction with this index runs. Its accesses are warm for later
 * ones only after `keep`.
 */
export class WatchedTransaction {
  /** In the order of their charges. */
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
   * Gas to refund: the surcharges for cold accesses that an earlier transaction of the block had reached. Accesses that
   * the transaction's own sender, recipient or access list warms are never charged as cold.
   *
   * The refund is subtracted after the cap of EIP-3529 and the floor of EIP-7623, as in op-reth's design. Neither is
   * computed again, so the transaction may pay less than the floor. The refund is limited to the gas used: with cleared
   * storage, surcharges can exceed the four fifths that EIP-3529 leaves.
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
    // A failed frame makes its accesses cold again for the transaction, but not for the block.
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
