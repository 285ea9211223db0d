import type { Hex } from '../../lib/hex.ts'

// Conventions of the code base. Hashes and addresses are lower-case hex text. Raw transactions and other opaque data
// are bytes. Block numbers, timestamps (Unix seconds) and sequence numbers are `number`; decoders reject values above
// 2^53-1. Gas, fees, wei and chain ids are `bigint`.

export interface BlockId {
  hash: Hex
  number: number
}

export interface L1BlockRef extends BlockId {
  parentHash: Hex
  timestamp: number
}

export interface L2BlockRef extends BlockId {
  parentHash: Hex
  timestamp: number
  l1Origin: BlockId
  /** Distance to the first L2 block with the same L1 origin (epoch). */
  sequenceNumber: number
}

/** Rollup parameters that L1's SystemConfig contract may change (specs: protocol/system-config). */
export interface SystemConfig {
  batcherAddress: Hex
  /** 32 bytes; zero since Ecotone. */
  overhead: Hex
  /** 32 bytes; since Ecotone: version byte, …, blobBaseFeeScalar u32, baseFeeScalar u32. */
  scalar: Hex
  gasLimit: bigint
  /** 8 bytes: denominator u32 ‖ elasticity u32 (Holocene). */
  eip1559Params?: Hex
  /** 32 bytes: scalar in bytes 20..24, constant in bytes 24..32 (Isthmus). */
  operatorFeeParams?: Hex
  minBaseFee?: bigint
  daFootprintGasScalar?: number
}

/** Forks in activation order. `delta` affects the rollup node only. */
export const FORKS = [
  'regolith',
  'canyon',
  'delta',
  'ecotone',
  'fjord',
  'granite',
  'holocene',
  'isthmus',
  'jovian',
  'karst',
  'lagoon',
] as const
export type Fork = (typeof FORKS)[number]

/** A fork in the rollup config that this version does not know. */
export interface UnknownFork {
  /** `mars` of `mars_time`. */
  name: string
  time: number
}

export interface AltDaConfig {
  daChallengeAddress: Hex
  daCommitmentType: 'KeccakCommitment' | 'GenericCommitment'
  daChallengeWindow: number
  daResolveWindow: number
  /** Maximum input bytes of a Keccak commitment; absent: 130,672. */
  daMaxInputSize?: number
}

export interface RollupConfig {
  genesis: {
    l1: BlockId
    l2: BlockId
    l2Time: number
    systemConfig: SystemConfig
  }
  /** Seconds. */
  blockTime: number
  /** Seconds; used before Fjord only. */
  maxSequencerDrift: number
  /** L1 blocks. */
  seqWindowSize: number
  /** L1 blocks; used before Granite only (50 from Granite). */
  channelTimeout: number
  l1ChainId: bigint
  l2ChainId: bigint
  /** L2 activation times in Unix seconds; absent = never. */
  forks: Partial<Record<Fork, number>>
  /** An L1 time. */
  pectraBlobScheduleTime?: number
  /** Scheduled forks that this version does not know; absent = none. */
  unknownForks?: readonly UnknownFork[]
  /**
   * Chain ids whose messages this chain accepts, including its own. Needed since Lagoon. Not part of the config's JSON.
   */
  dependencySet?: readonly bigint[]
  /** The dependency set's own expiry window of messages, in seconds. This node only reports it. */
  messageExpiryWindowS?: number
  /**
   * Deposits of Lagoon's activation block from the operator's file, without the two interop deposits. Not part of the
   * JSON.
   */
  lagoonBundle?: readonly DepositTx[]
  /** Blob fee parameters of a private L1, ascending by time; absent = by L1 chain id, else Cancun. */
  l1BlobSchedule?: readonly { time: number; updateFraction: bigint }[]
  /** Whether the gas limit keeps the extra gas of Karst's activation block; absent = no. */
  keepKarstUpgradeGas?: boolean
  batchInboxAddress: Hex
  depositContractAddress: Hex
  l1SystemConfigAddress: Hex
  protocolVersionsAddress?: Hex
  altDa?: AltDaConfig
  chainOpConfig?: {
    eip1559Elasticity: number
    eip1559Denominator: number
    eip1559DenominatorCanyon: number
  }
}

export interface DepositTx {
  sourceHash: Hex
  from: Hex
  /** null creates a contract. */
  to: Hex | null
  /** Wei; 0 = nothing is minted. */
  mint: bigint
  /** Wei. */
  value: bigint
  /** Gas limit. */
  gas: bigint
  /** Only before Regolith. */
  isSystemTx: boolean
  data: Uint8Array
}

export interface Withdrawal {
  index: bigint
  validatorIndex: bigint
  address: Hex
  /** Gwei. */
  amount: bigint
}

/** The Engine API's execution payload. Each optional member exists since its fork (V1 → V4). */
export interface ExecutionPayload {
  parentHash: Hex
  feeRecipient: Hex
  stateRoot: Hex
  receiptsRoot: Hex
  /** 256 bytes. */
  logsBloom: Hex
  prevRandao: Hex
  blockNumber: number
  gasLimit: bigint
  gasUsed: bigint
  timestamp: number
  /** 0 to 32 bytes. */
  extraData: Hex
  baseFeePerGas: bigint
  blockHash: Hex
  /** EIP-2718 encodings. */
  transactions: Uint8Array[]
  /** Canyon; always empty on OP chains. */
  withdrawals?: Withdrawal[]
  /** Since Ecotone. Since Jovian: the DA footprint. */
  blobGasUsed?: bigint
  /** Ecotone; always 0. */
  excessBlobGas?: bigint
  /** Isthmus: storage root of L2ToL1MessagePasser. */
  withdrawalsRoot?: Hex
}

export interface PayloadEnvelope {
  /** Ecotone. */
  parentBeaconBlockRoot?: Hex
  payload: ExecutionPayload
}

/** The Engine API's payload attributes with the OP Stack's additions (specs: exec-engine, "Extended PayloadAttributes"). */
export interface PayloadAttributes {
  timestamp: number
  prevRandao: Hex
  suggestedFeeRecipient: Hex
  /** Canyon: `[]`. */
  withdrawals?: Withdrawal[]
  /** Ecotone. */
  parentBeaconBlockRoot?: Hex
  /** Forced transactions, in order. */
  transactions: Uint8Array[]
  noTxPool: boolean
  gasLimit: bigint
  /** 8 bytes, Holocene. */
  eip1559Params?: Hex
  /** Jovian. */
  minBaseFee?: bigint
}

/** The fields of an L1 block that derivation reads. */
export interface L1BlockInfo extends L1BlockRef {
  /** prevRandao. */
  mixHash: Hex
  baseFeePerGas: bigint
  /** Absent before Cancun. */
  excessBlobGas?: bigint
  parentBeaconBlockRoot?: Hex
}

export interface L1Log {
  address: Hex
  topics: Hex[]
  data: Uint8Array
  /** Index within the block. */
  logIndex: number
}

export interface L1Receipt {
  transactionHash: Hex
  status: boolean
  logs: L1Log[]
}

export interface L1Transaction {
  hash: Hex
  /** EIP-2718 type. */
  type: number
  from: Hex
  /** null for contract creations. */
  to: Hex | null
  input: Uint8Array
  /** Type 3 only. */
  blobVersionedHashes?: Hex[]
}

/** The heads that the node reports (optimism_syncStatus, devium_syncStatus). */
export interface SyncStatus {
  currentL1: L1BlockRef
  headL1: L1BlockRef
  safeL1: L1BlockRef
  finalizedL1: L1BlockRef
  unsafeL2: L2BlockRef
  safeL2: L2BlockRef
  /** The last derived block. An op-supernode has also checked the safe head, which may be lower, against other chains. */
  localSafeL2: L2BlockRef
  finalizedL2: L2BlockRef
  /** Derived, but its span batch is not complete yet. */
  pendingSafeL2: L2BlockRef
  /** The lowest payload in the unsafe queue; all zero if the queue is empty. */
  queuedUnsafeL2: L2BlockRef
  /** The block that the engine syncs to; the unsafe head if it does not sync. */
  engineSyncTarget: L2BlockRef
}

export const ZERO_HASH: Hex = `0x${'0'.repeat(64)}`
export const ZERO_ADDRESS: Hex = `0x${'0'.repeat(40)}`
export const ZERO_L1_REF: L1BlockRef = { hash: ZERO_HASH, number: 0, parentHash: ZERO_HASH, timestamp: 0 }
export const ZERO_L2_REF: L2BlockRef = { ...ZERO_L1_REF, l1Origin: { hash: ZERO_HASH, number: 0 }, sequenceNumber: 0 }
