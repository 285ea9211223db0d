import type { Hex } from '../../lib/hex.ts'
import type { Fork, PayloadEnvelope } from '../../rollup/protocol/types.ts'
import type { ChainConfig } from '../config/chainConfig.ts'
import type { Block, BlockHeader, Receipt, TransactionLocation } from '../primitives/block.ts'
import type { StateStatistics } from '../state/stateDatabase.ts'
import type { TransactionTracer } from '../tracing/types.ts'
import type { BuildJob, BuildRequest } from './building.ts'
import type { ForkchoiceResult, ForkchoiceState, PayloadStatus } from './forkchoice.ts'
import type { CallPlace, CallRequest, CallResult, SimulatedBlock, SimulationRequest } from './simulation/types.ts'
import type { ChainReads } from './storage/chainReads.ts'
import type { LevelStatistics } from './storage/levelStatistics.ts'

// What the rest of devium-geth (Engine API, eth RPC, transaction pool) sees of the chain. Units are those of block.ts.

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

  /** undefined for an unknown block. */
  stateAt(blockHash: Hex): Promise<StateReader | undefined>
  /**
   * Runs on the state after the block, in an environment like that block's. Throws ChainError for an unknown block. This
   * and those below leave blocks their time, and throw the reason of `client` when it aborts.
   */
  call(request: CallRequest, at: CallPlace, client?: AbortSignal): Promise<CallResult>
  /**
   * Runs blocks of calls on top of a block, each on what the one before left. Throws ChainError for an unknown block, and
   * `execution-failed` with details.problem (`CallProblem`, `SimulationProblem`).
   */
  simulateBlocks(request: SimulationRequest, blockHash: Hex, client?: AbortSignal): Promise<SimulatedBlock[]>
  /** Least gas with which the call succeeds. Throws ChainError `execution-reverted` (details.data: bytes) or `execution-failed`. */
  estimateGas(request: CallRequest, at: CallPlace, client?: AbortSignal): Promise<bigint>
  /**
   * Runs transactions of a block again, from the first on, and tells a tracer of each from `from` to `to` (not included; by
   * their places). Gives what the tracers made. Throws ChainError for an unknown parent.
   */
  traceBlock(
    block: Block,
    range: { from: number; to: number },
    tracers: () => TransactionTracer,
    client?: AbortSignal,
  ): Promise<unknown[]>
  /** As `call`, with a tracer, whose answer it gives. */
  traceCall(request: CallRequest, at: CallPlace, tracer: TransactionTracer, client?: AbortSignal): Promise<unknown>

  /** Base fee of a child of `parent` with that timestamp. */
  nextBaseFee(parent: BlockHeader, timestamp: number): bigint
}

export interface Chain extends ReadableChain {
  /** The block, where it is in memory, its senders recovered. */
  cachedBlock(hash: Hex): Block | undefined
  /**
   * Executes and stores the block; never moves the head. Serialised with setForkchoice. A process that is killed before it is
   * made head may have lost it.
   */
  importPayload(envelope: PayloadEnvelope): Promise<PayloadStatus>
  /**
   * Moves the labels; the head may go back to an ancestor or over to a side chain. Throws ChainError
   * `invalid-forkchoice` with op-geth's texts when safe or finalized is unknown or not canonical.
   */
  setForkchoice(state: ForkchoiceState): Promise<ForkchoiceResult>
  /**
   * Starts a block on `parentHash` (which must be known). The forced transactions have run when this resolves; throws
   * ChainError `invalid-attributes` for attributes that break a fork's rules, `build-failed` when a forced transaction
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
  /** Called after every forkchoice, whichever labels it moved and before it is answered; the returned function unsubscribes. */
  onForkchoice(listener: (change: HeadChange) => void): () => void
  close(): Promise<void>
}
