import type { Hex } from '../../../lib/hex.ts'
import type { AccessListEntry, Authorization, Block, Log } from '../../primitives/block.ts'
import type { AnswerBudget } from '../../tracing/answerBudget.ts'

/** A simulated transaction (eth_call). Missing members have geth's defaults. */
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
  /** EIP-7702. Even an empty list makes it a set-code transaction. */
  authorizationList?: Authorization[]
}

/** geth's state override set: changes of accounts before the call. */
export interface AccountOverride {
  nonce?: bigint
  balance?: bigint
  code?: Uint8Array
  /** Replaces the whole storage. */
  state?: Record<Hex, Hex>
  /** Changes single slots. */
  stateDiff?: Record<Hex, Hex>
  /** New address of a precompile. */
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

/** The state and block in which a call runs. */
export interface CallPlace {
  /** The call runs on the state after this block. */
  blockHash: Hex
  overrides?: StateOverrides | undefined
  block?: BlockOverrides | undefined
}

export interface CallResult {
  gasUsed: bigint
  returnData: Uint8Array
  logs: Log[]
  /** Undefined on success. geth's message; for `REVERTED`, returnData holds the reason. */
  failure?: string | undefined
  /** Touched addresses and slots, without precompiles and sender (eth_createAccessList). */
  accessList: AccessListEntry[]
}

/** A block of calls to simulate (eth_simulateV1). */
export interface SimulationBlock {
  block: BlockOverrides & { parentBeaconBlockRoot?: Hex }
  overrides: StateOverrides
  calls: CallRequest[]
}

export interface SimulationRequest {
  blocks: SimulationBlock[]
  /** Checks nonces and fees, and uses the chain's base fee. */
  isValidated: boolean
  /** Adds a log for each transfer of ether. */
  showsTransfers: boolean
  /** Gas that all calls may use together; undefined = no limit. */
  gasCap: bigint | undefined
  budget: AnswerBudget
}

export interface SimulatedCall {
  gasUsed: bigint
  /** Gas used before refunds, at least the calldata floor (execution-apis: `maxUsedGas`). */
  maxUsedGas: bigint
  returnData: Uint8Array
  /** `logIndex` also counts logs of reverted calls. */
  logs: Log[]
  failure?: string | undefined
}

/** Its transactions are unsigned. */
export interface SimulatedBlock {
  block: Block
  calls: SimulatedCall[]
}
