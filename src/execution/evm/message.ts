import type { Hex } from '../../lib/hex.ts'
import type { Rules } from '../config/chainConfig.ts'
import type { AccessListEntry, Authorization, Log } from '../primitives/block.ts'

export interface BlockContext {
  chainId: bigint
  number: number
  timestamp: number
  coinbase: Hex
  prevRandao: Hex
  gasLimit: bigint
  baseFee: bigint
  /** Default 1, as on every OP chain. */
  blobBaseFee?: bigint | undefined
  rules: Rules
}

/** A call or creation at depth 0. The caller handles fees. */
export interface Message {
  from: Hex
  /** null: creation. */
  to: Hex | null
  value: bigint
  data: Uint8Array
  /** For execution, without the intrinsic gas. */
  gas: bigint
  /** The result of GASPRICE. */
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
  /** Undefined on success. geth's message. */
  failure?: string
}
