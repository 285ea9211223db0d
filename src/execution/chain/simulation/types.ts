import type { Hex } from '../../../lib/hex.ts'
import type { AccessListEntry, Authorization, Block, Log } from '../../primitives/block.ts'

/** A simulated transaction (eth_call). Absent members take geth's defaults. */
export interface CallRequest {
  from?: Hex
  to?: Hex | null
  gas?: bigint
  gasPrice?: bigint
  maxFeePerGas?: bigint
  maxPriorityFeePerGas?: bigint
  value?: bigint
  data?: Uint8Array
  nonce?: number
  accessList?: AccessListEntry[]
  /** EIP-7702; even an empty list makes it a set-code transaction. */
  authorizationList?: Authorization[]
}

/** geth's state override set: per account, before the call. */
export interface AccountOverride {
  nonce?: bigint
  balance?: bigint
  code?: Uint8Array
  /** Replaces the whole storage. */
  state?: Record<Hex, Hex>
  /** Changes single slots. */
  stateDiff?: Record<Hex, Hex>
  /** Of a precompile: where it is then. */
  movePrecompileTo?: Hex
}

export type StateOverrides = Record<Hex, AccountOverride>

/** geth's block overrides. */
export interface BlockOverrides {
  number?: number
  timestamp?: number
  gasLimit?: bigint
  coinbase?: Hex
  prevRandao?: Hex
  baseFee?: bigint
  blobBaseFee?: bigint
}

/** On what a call runs. */
export interface CallPlace {
  /** The state after this block. */
  blockHash: Hex
  overrides?: StateOverrides | undefined
  block?: BlockOverrides | undefined
}

export interface CallResult {
  gasUsed: bigint
  returnData: Uint8Array
  logs: Log[]
  /** Absent on success. `revert`: returnData holds the reason; `other`: out of gas, invalid opcode … */
  failure?: { kind: 'revert' | 'other'; message: string }
  /** Addresses and slots touched, precompiles and sender left out (eth_createAccessList). */
  accessList: AccessListEntry[]
}

/** A block of calls that is to be simulated (eth_simulateV1). */
export interface SimulationBlock {
  block: BlockOverrides & { parentBeaconBlockRoot?: Hex }
  overrides: StateOverrides
  calls: CallRequest[]
}

export interface SimulationRequest {
  blocks: SimulationBlock[]
  /** Nonces and fees are checked, and the base fee is the chain's. */
  isValidated: boolean
  /** Transfers of ether show as logs. */
  showsTransfers: boolean
  /** That all calls may use together; undefined = no limit. */
  gasCap: bigint | undefined
}

export interface SimulatedCall {
  gasUsed: bigint
  returnData: Uint8Array
  /** `logIndex` counts what was undone, too. */
  logs: Log[]
  failure?: CallResult['failure']
}

/** Its transactions are not signed. */
export interface SimulatedBlock {
  block: Block
  calls: SimulatedCall[]
}
