import type { Hex } from '../../lib/hex.ts'
import type { Rules } from '../config/chainConfig.ts'
import type { AccessListEntry, Authorization, Log } from '../primitives/block.ts'

/** The block that a message runs in. */
export interface BlockContext {
  chainId: bigint
  number: number
  timestamp: number
  coinbase: Hex
  prevRandao: Hex
  gasLimit: bigint
  baseFee: bigint
  /** Absent: 1, as on every OP chain. */
  blobBaseFee?: bigint | undefined
  rules: Rules
}

/** A call or creation at depth 0, fees aside. */
export interface Message {
  from: Hex
  /** null: creation. */
  to: Hex | null
  value: bigint
  data: Uint8Array
  /** For execution, intrinsic gas already taken off. */
  gas: bigint
  /** What GASPRICE gives. */
  gasPrice: bigint
  accessList: readonly AccessListEntry[]
  authorizations: readonly Authorization[]
}

export interface MessageResult {
  gasUsed: bigint
  /** Before the cap of a fifth of all gas used. */
  refund: bigint
  returnData: Uint8Array
  logs: Omit<Log, 'logIndex'>[]
  /** Absent on success: geth's words. */
  failure?: string
}
