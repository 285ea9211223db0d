import type { Hex } from '../../lib/hex.ts'
import type { Fork, PayloadAttributes, PayloadEnvelope } from '../../rollup/protocol/types.ts'
import type { Tracer } from '../evm/interpreter/tracer.ts'
import type { Patience } from '../evm/patience.ts'
import type { Environment } from '../evm/runMessage.ts'
import type { StateStatistics } from '../state/stateDatabase.ts'
import type {
  AccessListEntry,
  Authorization,
  Block,
  BlockHeader,
  Log,
  Receipt,
  SignedTransaction,
  TransactionLocation,
} from './block.ts'
import type { ChainReads } from './storage/chainReads.ts'
import type { LevelStatistics } from './storage/levelStatistics.ts'

// What the rest of devium-geth (Engine API, eth RPC, transaction pool) sees of the chain. Units are those of block.ts.

/** The chain configuration as genesis.json gives it, plus what is read from it. */
export interface ChainConfig {
  chainId: bigint
  /** Activation times in Unix seconds; absent = never. Bedrock is always active. */
  forks: Partial<Record<Fork, number>>
  eip1559Elasticity: bigint
  eip1559Denominator: bigint
  eip1559DenominatorCanyon: bigint
  /** The `config` object of genesis.json, unchanged. */
  json: Readonly<Record<string, unknown>>
}

/** Engine API payload status. `latestValidHash` null = unknown. */
export type PayloadStatus =
  | { status: 'VALID'; latestValidHash: Hex }
  | { status: 'INVALID'; latestValidHash: Hex | null; validationError: string }
  /** The parent is not known. */
  | { status: 'SYNCING'; latestValidHash: null }

/** Zero hashes mean unset. */
export interface ForkchoiceState {
  headBlockHash: Hex
  safeBlockHash: Hex
  finalizedBlockHash: Hex
}

export type ForkchoiceResult =
  | { status: 'VALID'; head: BlockHeader }
  | { status: 'INVALID'; latestValidHash: Hex | null; validationError: string }
  /** The head block is not known. */
  | { status: 'SYNCING' }

/** Code of the ChainError that setForkchoice throws when safe or finalized is not canonical (JSON-RPC −38002). */
export type ForkchoiceErrorCode = 'invalidForkchoice'
/** Code of the ChainError that startBuild throws for bad attributes (JSON-RPC −38003). */
export type AttributesErrorCode = 'invalidAttributes'

export interface BuiltBlock {
  envelope: PayloadEnvelope
  block: Block
  receipts: Receipt[]
  /** Wei paid to the fee recipient as tips. */
  blockValue: bigint
}

/** A block under construction. Without `noTxPool` it keeps taking pool transactions until sealed. */
export interface BuildJob {
  /** 8 bytes; the first byte is the payload version. */
  payloadId: Hex
  parentHash: Hex
  timestamp: number
  /** Ends the filling and gives the block (the same result when called again). Rejects when the build failed. */
  seal(): Promise<BuiltBlock>
  cancel(): void
}

export interface BuildRequest {
  parentHash: Hex
  attributes: PayloadAttributes
  /** Engine API version of the payload: 2 (Bedrock…Delta), 3 (Ecotone), 4 (Isthmus). */
  version: 1 | 2 | 3 | 4
  /** Absent or with `noTxPool`: forced transactions only. */
  txSource?: TxSource | undefined
  /** From Lagoon on, where the pool is used: refund to transactions what earlier ones of the block have warmed. Default: false. */
  refundsWarming?: boolean
  signal?: AbortSignal
}

/** What the builder needs of the transaction pool. */
export interface TxSource {
  /** Executable transactions by falling effective tip at `baseFee`, each sender's in nonce order. */
  best(baseFee: bigint): TxCursor
  /** Resolves once transactions were added after the call; the builder then asks for a new cursor. Rejects on abort. */
  added(signal: AbortSignal): Promise<void>
  /** Gas up to which blocks are filled, where that is less than their limit; 0 and absent = none. */
  readonly effectiveGasLimit?: bigint
  /** False for one whose condition does not hold in the block under construction: it is given up. */
  mayTake?(transaction: SignedTransaction, env: Environment): boolean
  /** Limits on what a block takes from this source; read for each transaction. */
  maxDaSize?(): DaSizeLimits
}

/** Estimated compressed bytes (Fjord's measure); absent = no limit. */
export interface DaSizeLimits {
  transactionBytes?: number
  /** Of all signed transactions of the block. */
  blockBytes?: number
}

/** A walk over the pool that does not change it. */
export interface TxCursor {
  /** The best transaction that is left; undefined at the end. */
  peek(): SignedTransaction | undefined
  /** Passes over this one; the sender's next nonce comes up. (Taken into the block, or its nonce was used already.) */
  next(): void
  /** Passes over this one and all later ones of its sender (it does not fit the block, or is not executable now). */
  skipSender(): void
}

export interface AccountState {
  nonce: bigint
  balance: bigint
  storageRoot: Hex
  codeHash: Hex
}

/** EIP-1186. */
export interface AccountProof extends AccountState {
  address: Hex
  accountProof: Uint8Array[]
  storageProof: { key: Hex; value: bigint; proof: Uint8Array[] }[]
}

/** State after one block. */
export interface StateReader {
  /** undefined: the account does not exist. */
  account(address: Hex): Promise<AccountState | undefined>
  /** Empty when there is none. */
  code(address: Hex): Promise<Uint8Array>
  /** 32 bytes; `slot` is 32 bytes. */
  storage(address: Hex, slot: Hex): Promise<Hex>
  proof(address: Hex, slots: readonly Hex[]): Promise<AccountProof>
}

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

/** What a trace makes of one transaction. */
export interface TransactionTracer extends Tracer {
  /** Before its fees are charged and its nonce goes up. */
  begin(env: Environment, transaction: TracedTransaction): void
  /** After its fees were settled: what is answered, as JSON takes it. */
  end(result: TracedResult): unknown
}

export interface TracedTransaction {
  from: Hex
  to: Hex | null
  gas: bigint
  authorizations: readonly Authorization[]
  isDeposit?: boolean
}

/** `failure`: geth's words, of a revert too. */
export interface TracedResult {
  gasUsed: bigint
  returnData: Uint8Array
  failure?: string | undefined
}

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

/** What a block has cost. */
export interface ExecutedBlock {
  gasUsed: bigint
  /** Its transactions decoded and executed, and all of it stored. */
  durationMs: number
}

export interface HeadChange {
  head: BlockHeader
  /** Canonical blocks that left, highest first. Empty when the chain only grew. */
  removed: BlockHeader[]
  /** Blocks that became canonical, lowest first. */
  added: BlockHeader[]
}

/** What a pool or wallet needs to know the L1 cost of a transaction in the next block. */
export interface L1FeeSource {
  /** Wei for this encoded transaction: L1 data fee. */
  l1DataFee(raw: Uint8Array): bigint
  /** Wei, worst case for this gas limit (Isthmus); 0 before. */
  operatorFee(gasLimit: bigint): bigint
}

export interface ChainLabels {
  head(): BlockHeader
  /** undefined until a forkchoice names one. */
  safe(): BlockHeader | undefined
  finalized(): BlockHeader | undefined
}

/** What can be asked of a chain without changing it. */
export interface ReadableChain extends ChainLabels {
  readonly config: ChainConfig
  readonly genesis: BlockHeader
  isForkActive(fork: Fork, timestamp: number): boolean

  headerByHash(hash: Hex): Promise<BlockHeader | undefined>
  /** Canonical chain only, as all lookups by number. */
  headerByNumber(number: number): Promise<BlockHeader | undefined>
  blockByHash(hash: Hex): Promise<Block | undefined>
  blockByNumber(number: number): Promise<Block | undefined>
  /** In transaction order; undefined for an unknown block. */
  receipts(blockHash: Hex): Promise<Receipt[] | undefined>
  /** Canonical chain only. */
  transactionByHash(hash: Hex): Promise<TransactionLocation | undefined>
  isCanonical(header: BlockHeader): Promise<boolean>
  /** The canonical block that has the transaction, without reading it. */
  headerOfTransaction(hash: Hex): BlockHeader | undefined
  /** The block, where it is in memory, its senders recovered. */
  cachedBlock(hash: Hex): Block | undefined

  /** undefined for an unknown block. */
  stateAt(blockHash: Hex): Promise<StateReader | undefined>
  /**
   * Runs on the state after the block, in an environment like that block's. Throws ChainError for an unknown block. This
   * and the two below leave blocks their time, wait while others run, and throw the reason of `client` when it aborts.
   */
  call(request: CallRequest, at: CallPlace, client?: Patience): Promise<CallResult>
  /**
   * Runs blocks of calls on top of a block, each on what the one before left. Throws ChainError for an unknown block, and
   * `executionFailed` with details.problem (`CallProblem`, `SimulationProblem`).
   */
  simulateBlocks(request: SimulationRequest, blockHash: Hex, client?: Patience): Promise<SimulatedBlock[]>
  /** Least gas with which the call succeeds. Throws ChainError `executionReverted` (details.data: bytes) or `executionFailed`. */
  estimateGas(request: CallRequest, at: CallPlace, client?: Patience): Promise<bigint>
  /**
   * Runs transactions of a block again, from the first on, and tells a tracer of each from `from` to `to` (not included; by
   * their places). Gives what the tracers made. Throws ChainError for an unknown parent.
   */
  traceBlock(
    block: Block,
    range: { from: number; to: number },
    tracers: () => TransactionTracer,
    client?: Patience,
  ): Promise<unknown[]>
  /** As `call`, with a tracer, whose answer it gives. */
  traceCall(request: CallRequest, at: CallPlace, tracer: TransactionTracer, client?: Patience): Promise<unknown>

  /** Base fee of a child of `parent` with that timestamp. */
  nextBaseFee(parent: BlockHeader, timestamp: number): bigint
}

export interface Chain extends ReadableChain {
  /** The block will be imported soon: its senders are recovered meanwhile, where there is a core for it. */
  expectPayload(envelope: PayloadEnvelope): void
  /**
   * Executes and stores the block; never moves the head. Serialised with setForkchoice. A process that is killed before it is
   * made head may have lost it.
   */
  importPayload(envelope: PayloadEnvelope): Promise<PayloadStatus>
  /**
   * Moves the labels; the head may go back to an ancestor or over to a side chain. Throws ChainError
   * `invalidForkchoice` with op-geth's texts when safe or finalized is unknown or not canonical.
   */
  setForkchoice(state: ForkchoiceState): Promise<ForkchoiceResult>
  /**
   * Starts a block on `parentHash` (which must be known). The forced transactions have run when this resolves; throws
   * ChainError `invalidAttributes` for attributes that break a fork's rules, `buildFailed` when a forced transaction
   * cannot be decoded or executed.
   */
  startBuild(request: BuildRequest): Promise<BuildJob>

  /** L1 and operator fees as they stand after the head block. */
  l1Fees(): Promise<L1FeeSource>

  /** For operators: the database by levels, and the caches of the state. */
  statistics(): { levels: LevelStatistics[]; state: StateStatistics }
  /** What the chain is stored as, for a view of it in another process. */
  chainReads(): ChainReads
  /** Called for every block that `importPayload` has executed: not for one that was there, or was built here. */
  onExecuted(listener: (block: ExecutedBlock) => void): () => void
  /** Called after every head move, in order; the returned function unsubscribes. */
  onHead(listener: (change: HeadChange) => void): () => void
  close(): Promise<void>
}
