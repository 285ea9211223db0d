import type { Hex } from '../../lib/hex.ts'

// Conventions of the whole code base: hashes and addresses are lower-case hex text; raw transactions and other opaque
// data are bytes; block numbers, timestamps (Unix seconds) and sequence numbers are `number` (decoders refuse what
// passes 2^53-1); gas, fees, wei and chain ids are `bigint`.

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
  /** Distance to the first L2 block of the same L1 origin (epoch). */
  sequenceNumber: number
}

/** Rollup parameters that L1's SystemConfig contract may change (specs: protocol/system-config). */
export interface SystemConfig {
  batcherAddress: Hex
  /** 32 bytes; zero from Ecotone on. */
  overhead: Hex
  /** 32 bytes; from Ecotone on: version byte, …, blobBaseFeeScalar u32, baseFeeScalar u32. */
  scalar: Hex
  gasLimit: bigint
  /** 8 bytes: denominator u32 ‖ elasticity u32 (Holocene). */
  eip1559Params?: Hex
  /** 32 bytes: scalar in bytes 20..24, constant in bytes 24..32 (Isthmus). */
  operatorFeeParams?: Hex
  minBaseFee?: bigint
  daFootprintGasScalar?: number
}

/** Forks in activation order. `delta` concerns the rollup node only. */
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

/** A fork that the rollup config names and this version does not know. */
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
  /** Bytes of the longest input behind a Keccak commitment; absent: 130,672. */
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
  /** Compared with the L1 time. */
  pectraBlobScheduleTime?: number
  /** Scheduled, and not known here; absent = none. */
  unknownForks?: readonly UnknownFork[]
  /** Chain ids whose messages this chain takes, its own among them; needed from Lagoon on. Not part of the config's JSON. */
  dependencySet?: readonly bigint[]
  /** Deposits of Lagoon's activation block that the operator gave, without the two of interop. Not part of the JSON either. */
  lagoonBundle?: readonly DepositTx[]
  /** Blob fee parameters of an L1 that is no public network, ascending by time; absent = by L1 chain id, else Cancun. */
  l1BlobSchedule?: readonly { time: number; updateFraction: bigint }[]
  /** Whether the gas that Karst's activation block adds for its upgrade stays in the gas limit; absent = no. */
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

/** The Engine API's execution payload; optional members appear with their fork (V1 → V4). */
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
  /** Ecotone; the DA footprint from Jovian. */
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

/** The part of an L1 block that derivation reads. */
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

/** What every program reports about where it stands (optimism_syncStatus, devium_syncStatus). */
export interface SyncStatus {
  currentL1: L1BlockRef
  headL1: L1BlockRef
  safeL1: L1BlockRef
  finalizedL1: L1BlockRef
  unsafeL2: L2BlockRef
  safeL2: L2BlockRef
  finalizedL2: L2BlockRef
  /** Derived, but the span batch it belongs to is not yet complete. */
  pendingSafeL2: L2BlockRef
  /** Lowest payload that waits in the unsafe queue; all zero when none. */
  queuedUnsafeL2: L2BlockRef
  /** The block the engine syncs to; the unsafe head when it does not sync. */
  engineSyncTarget: L2BlockRef
}

export const ZERO_HASH: Hex = `0x${'0'.repeat(64)}`
export const ZERO_ADDRESS: Hex = `0x${'0'.repeat(40)}`
export const ZERO_L1_REF: L1BlockRef = { hash: ZERO_HASH, number: 0, parentHash: ZERO_HASH, timestamp: 0 }
export const ZERO_L2_REF: L2BlockRef = { ...ZERO_L1_REF, l1Origin: { hash: ZERO_HASH, number: 0 }, sequenceNumber: 0 }
