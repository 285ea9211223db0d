import type { Hex } from '../../lib/hex.ts'
import type { Fork, PayloadEnvelope } from '../../rollup/protocol/types.ts'
import type { FeeSchedule } from '../block/executeTransaction.ts'
import type { ChainConfig } from '../config/chainConfig.ts'
import type { Block, BlockHeader, Receipt, TransactionLocation } from '../primitives/block.ts'
import type { StateStatistics } from '../state/stateDatabase.ts'
import type { TransactionTracer } from '../tracing/types.ts'
import type { BuildJob, BuildRequest } from './building.ts'
import type { ForkchoiceResult, ForkchoiceState, PayloadStatus } from './forkchoice.ts'
import type { CallPlace, CallRequest, CallResult, SimulatedBlock, SimulationRequest } from './simulation/types.ts'
import type { ChainReads } from './storage/chainReads.ts'
import type { LevelStatistics } from './storage/levelStatistics.ts'

// The interface of the chain to the rest of devium-geth (Engine API, eth RPC, transaction pool). Units are those of
// block.ts.

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

/** The state after one block. */
export interface StateReader {
  /** Undefined if the account does not exist. */
  account(address: Hex): Promise<AccountState | undefined>
  /** Empty if there is no code. */
  code(address: Hex): Promise<Uint8Array>
  /** 32 bytes; `slot` is 32 bytes. */
  storage(address: Hex, slot: Hex): Promise<Hex>
  proof(address: Hex, slots: readonly Hex[]): Promise<AccountProof>
}

/** Cost of an executed block. */
export interface ExecutedBlock {
  gasUsed: bigint
  /** Time to decode, execute and store the block. */
  durationMs: number
}

export interface HeadChange {
  head: BlockHeader
  /** Blocks that are not canonical any more, highest first. Empty if the chain only grew. */
  removed: BlockHeader[]
  /** Blocks that became canonical, lowest first. */
  added: BlockHeader[]
}

export interface ChainLabels {
  head(): BlockHeader
  /** Undefined until a forkchoice sets it. */
  safe(): BlockHeader | undefined
  finalized(): BlockHeader | undefined
}

export interface ReadableChain extends ChainLabels {
  readonly config: ChainConfig
  readonly genesis: BlockHeader
  isForkActive(fork: Fork, timestamp: number): boolean

  headerByHash(hash: Hex): Promise<BlockHeader | undefined>
  /** Canonical chain only, like all reads by number. */
  headerByNumber(number: number): Promise<BlockHeader | undefined>
  blockByHash(hash: Hex): Promise<Block | undefined>
  blockByNumber(number: number): Promise<Block | undefined>
  /** In transaction order; undefined for an unknown block. */
  receipts(blockHash: Hex): Promise<Receipt[] | undefined>
  /** Canonical chain only. */
  transactionByHash(hash: Hex): Promise<TransactionLocation | undefined>
  isCanonical(header: BlockHeader): Promise<boolean>
  /** The header of the canonical block that has the transaction. */
  headerOfTransaction(hash: Hex): BlockHeader | undefined

  /** Undefined for an unknown block or a pruned state. */
  stateAt(blockHash: Hex): Promise<StateReader | undefined>
  /**
   * Runs on the state after the block, in an environment like that block's. Throws ChainError for an unknown block.
   * This method and those below yield to block execution, and throw the reason of `client` when it aborts.
   */
  call(request: CallRequest, at: CallPlace, client?: AbortSignal): Promise<CallResult>
  /**
   * Runs blocks of calls on top of a block, each on the state of the one before. Throws ChainError for an unknown
   * block, and `execution-failed` with details.problem (`CallProblem`, `SimulationProblem`).
   */
  simulateBlocks(request: SimulationRequest, blockHash: Hex, client?: AbortSignal): Promise<SimulatedBlock[]>
  /**
   * Lowest gas limit with which the call succeeds. Throws ChainError `execution-reverted` (details.data: bytes) or
   * `execution-failed`.
   */
  estimateGas(request: CallRequest, at: CallPlace, client?: AbortSignal): Promise<bigint>
  /**
   * Executes the transactions of a block again, from the first on. Those with an index from `from` to `to` (exclusive)
   * have a tracer each. Resolves with the tracers' results. Throws ChainError for an unknown parent.
   */
  traceBlock(
    block: Block,
    range: { from: number; to: number },
    tracers: () => TransactionTracer,
    client?: AbortSignal,
  ): Promise<unknown[]>
  /** Like `call`, with a tracer. Resolves with the tracer's result. */
  traceCall(request: CallRequest, at: CallPlace, tracer: TransactionTracer, client?: AbortSignal): Promise<unknown>

  /** Base fee of a child of `parent` with this timestamp. */
  nextBaseFee(parent: BlockHeader, timestamp: number): bigint
}

export interface Chain extends ReadableChain {
  /** The block with recovered senders, if it is in memory. */
  cachedBlock(hash: Hex): Block | undefined
  /**
   * Executes and stores the block. Never moves the head. Serialized with setForkchoice. If the process is killed before
   * the block becomes head, the block may be lost.
   */
  importPayload(envelope: PayloadEnvelope): Promise<PayloadStatus>
  /**
   * Moves the labels. The head may move back to an ancestor or to a side chain. Throws ChainError `invalid-forkchoice`
   * with op-geth's messages if safe or finalized is unknown or not canonical.
   */
  setForkchoice(state: ForkchoiceState): Promise<ForkchoiceResult>
  /**
   * Starts a block on `parentHash`, which must be known. Resolves when the forced transactions have run. Throws
   * ChainError `invalid-attributes` if the attributes break a fork's rules. Throws `build-failed` if a forced
   * transaction cannot be decoded or executed.
   */
  startBuild(request: BuildRequest): Promise<BuildJob>

  /** L1 and operator fees after the head block. */
  l1Fees(): Promise<FeeSchedule>

  /** For operators: LevelDB's levels, and the caches of the state. */
  statistics(): { levels: LevelStatistics[]; state: StateStatistics }
  /** The stored chain, for a view of it in another process. */
  chainReads(): ChainReads
  /** Called for each block that `importPayload` executed. Not called for known blocks or blocks built here. */
  onExecuted(listener: (block: ExecutedBlock) => void): () => void
  /** Called after each head move, in order. The returned function unsubscribes. */
  onHead(listener: (change: HeadChange) => void): () => void
  /** Called after each forkchoice, before it is answered. The returned function unsubscribes. */
  onForkchoice(listener: (change: HeadChange) => void): () => void
  close(): Promise<void>
}
