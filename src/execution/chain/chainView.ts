import { fromHex, type Hex } from '../../lib/hex.ts'
import { isForkActive } from '../../rollup/protocol/config/forks.ts'
import { EMPTY_TRIE_ROOT } from '../../rollup/protocol/constants.ts'
import type { Fork, PayloadAttributes } from '../../rollup/protocol/types.ts'
import { childBaseFee } from '../block/headerRules.ts'
import type { ChainConfig } from '../config/chainConfig.ts'
import { ChainError } from '../errors.ts'
import type { EvmModules } from '../evm/environment.ts'
import type { Block, BlockHeader, Receipt, TransactionLocation } from '../primitives/block.ts'
import {
  StateDatabase,
  type StateDatabaseOptions,
  type StateStatistics,
  type StateView,
} from '../state/stateDatabase.ts'
import { ROOT_KEY } from '../state/stateKeys.ts'
import { WorldState } from '../state/worldState.ts'
import type { TransactionTracer } from '../tracing/types.ts'
import type { BlockReader } from './blockReader.ts'
import { type ExecutionWitness, type WitnessModules, witnessOfAttributes, witnessOfBlock } from './executionWitness.ts'
import { estimateGas } from './simulation/estimateGas.ts'
import { simulateBlocks } from './simulation/simulateBlocks.ts'
import { type SimulationModules, type SimulationPlace, simulateCall } from './simulation/simulation.ts'
import { traceBlock } from './simulation/traceBlock.ts'
import type { CallPlace, CallRequest, CallResult, SimulatedBlock, SimulationRequest } from './simulation/types.ts'
import { createStateReader, type StateReader } from './stateReader.ts'
import type { ChainReads } from './storage/chainReads.ts'
import type { ChainLabels } from './types.ts'

const NO_CLIENT = new AbortController().signal

export interface ChainViewModules {
  reads: ChainReads
  blocks: BlockReader
  labels: ChainLabels
  /** Aborts all executions. */
  limit?: AbortSignal
}

export type ReadableChain = Pick<ChainView, keyof ChainView>

/** The read-only part of a chain: blocks, states, and simulations on them. */
export class ChainView implements ChainLabels {
  readonly config: ChainConfig
  readonly genesis: BlockHeader
  protected readonly evm: EvmModules
  private readonly reads: ChainReads
  private readonly blockReader: BlockReader
  private readonly labels: ChainLabels
  private readonly states: StateDatabase
  private readonly simulation: SimulationModules

  constructor(
    { reads, blocks, labels, limit }: ChainViewModules,
    { config, genesis }: { config: ChainConfig; genesis: BlockHeader },
    caches: StateDatabaseOptions = {},
  ) {
    this.config = config
    this.genesis = genesis
    this.reads = reads
    this.blockReader = blocks
    this.labels = labels
    this.states = new StateDatabase({ store: reads }, caches)
    this.evm = { config, ancestry: blocks, limit }
    this.simulation = { ...this.evm, worldAt: (header) => this.worldAt(header) }
  }

  isForkActive(fork: Fork, timestamp: number): boolean {
    return isForkActive(this.config, fork, timestamp)
  }

  head(): BlockHeader {
    return this.labels.head()
  }

  /** Undefined until a forkchoice sets it. */
  safe(): BlockHeader | undefined {
    return this.labels.safe()
  }

  finalized(): BlockHeader | undefined {
    return this.labels.finalized()
  }

  async headerByHash(hash: Hex): Promise<BlockHeader | undefined> {
    return this.blockReader.header(hash)
  }

  /** Canonical chain only, like all reads by number. */
  async headerByNumber(number: number): Promise<BlockHeader | undefined> {
    return this.blockReader.canonicalHeader(number)
  }

  async blockByHash(hash: Hex): Promise<Block | undefined> {
    return this.blockReader.block(hash)
  }

  async blockByNumber(number: number): Promise<Block | undefined> {
    const hash = this.reads.canonicalHash(number)
    return hash === undefined ? undefined : this.blockReader.block(hash)
  }

  /** In transaction order; undefined for an unknown block. */
  async receipts(blockHash: Hex): Promise<Receipt[] | undefined> {
    return this.blockReader.receipts(blockHash)
  }

  /** Canonical chain only. */
  async transactionByHash(hash: Hex): Promise<TransactionLocation | undefined> {
    const position = this.reads.transaction(hash)
    const block = position === undefined ? undefined : this.blockReader.block(position.blockHash)
    const transaction = position === undefined ? undefined : block?.transactions[position.index]
    if (position === undefined || block === undefined || transaction === undefined) return undefined
    return { transaction, block: block.header, index: position.index }
  }

  async isCanonical(header: BlockHeader): Promise<boolean> {
    return this.blockReader.isCanonical(header)
  }

  /** The header of the canonical block that has the transaction. */
  headerOfTransaction(hash: Hex): BlockHeader | undefined {
    const position = this.reads.transaction(hash)
    return position === undefined ? undefined : this.blockReader.header(position.blockHash)
  }

  /** The block with recovered senders, if it is in memory. */
  cachedBlock(hash: Hex): Block | undefined {
    return this.blockReader.cached(hash)
  }

  /** Undefined for an unknown block or a pruned state. */
  async stateAt(blockHash: Hex): Promise<StateReader | undefined> {
    const header = this.blockReader.header(blockHash)
    const view = header && this.viewOf(header)
    return view && createStateReader(this.states, header.stateRoot, view)
  }

  /**
   * Runs on the state after the block, in an environment like that block's. Throws ChainError for an unknown block. This
   * method and those below yield to block execution, and throw the reason of `client` when it aborts.
   */
  async call(request: CallRequest, at: CallPlace, client: AbortSignal = NO_CLIENT): Promise<CallResult> {
    return simulateCall(this.simulation, request, this.placeOf(at), client)
  }

  /**
   * Lowest gas limit with which the call succeeds. Throws ChainError `execution-reverted` (details.data: bytes) or
   * `execution-failed`.
   */
  async estimateGas(request: CallRequest, at: CallPlace, client: AbortSignal = NO_CLIENT): Promise<bigint> {
    return estimateGas(this.simulation, request, this.placeOf(at), client)
  }

  /**
   * Runs blocks of calls on top of a block, each on the state of the one before. Throws ChainError for an unknown block,
   * and `execution-failed` with details.problem (`CallProblem`).
   */
  async simulateBlocks(
    request: SimulationRequest,
    blockHash: Hex,
    client: AbortSignal = NO_CLIENT,
  ): Promise<SimulatedBlock[]> {
    const base = this.blockReader.block(blockHash)
    if (base === undefined) throw new ChainError('unknown-block', `block ${blockHash} is not known`)
    return simulateBlocks(this.simulation, request, base, client)
  }

  /** Like `call`, with a tracer. Resolves with the tracer's result. */
  async traceCall(
    request: CallRequest,
    at: CallPlace,
    tracer: TransactionTracer,
    client: AbortSignal = NO_CLIENT,
  ): Promise<unknown> {
    return tracer.end(await simulateCall(this.simulation, request, this.placeOf(at), client, tracer))
  }

  /**
   * Executes the transactions of a block again, from the first on. Those with an index from `from` to `to` (exclusive)
   * have a tracer each. Resolves with the tracers' results. Throws ChainError for an unknown parent.
   */
  async traceBlock(
    block: Block,
    range: { from: number; to: number },
    tracers: () => TransactionTracer,
    client: AbortSignal = NO_CLIENT,
  ): Promise<unknown[]> {
    const parent = this.requireHeader(block.header.parentHash)
    return traceBlock(this.simulation, block, parent, range, tracers, client)
  }

  /** Executes the block again. Throws ChainError for an unknown parent or a pruned state. */
  async witnessOfBlock(block: Block, client: AbortSignal = NO_CLIENT): Promise<ExecutionWitness> {
    const parent = this.requireHeader(block.header.parentHash)
    return witnessOfBlock(this.witnessModules(parent, client), block, parent)
  }

  /** Executes attributes on a block. Throws ChainError, also `invalid-attributes` and `build-failed`. */
  async witnessOfAttributes(
    attributes: PayloadAttributes,
    parentHash: Hex,
    client: AbortSignal = NO_CLIENT,
  ): Promise<ExecutionWitness> {
    const parent = this.requireHeader(parentHash)
    return witnessOfAttributes(this.witnessModules(parent, client), attributes, parent)
  }

  storedCode(hash: Uint8Array): Uint8Array | undefined {
    return this.reads.code(hash)
  }

  /** Base fee of a child of `parent` with this timestamp. */
  nextBaseFee(parent: BlockHeader, timestamp: number): bigint {
    return childBaseFee(this.config, parent, timestamp)
  }

  protected stateStatistics(): StateStatistics {
    return this.states.statistics()
  }

  protected hasState(header: BlockHeader): boolean {
    return this.viewOf(header) !== undefined
  }

  private viewOf({ hash, stateRoot }: BlockHeader): StateView | undefined {
    const view = this.reads.stateAt(hash)
    const isThere = stateRoot === EMPTY_TRIE_ROOT || view?.node(ROOT_KEY, fromHex(stateRoot)) !== undefined
    return isThere ? view : undefined
  }

  /** Throws ChainError `state-gone` if the state was pruned. */
  protected worldAt(header: BlockHeader): WorldState {
    return new WorldState(this.states.at(this.requireView(header)), header.stateRoot)
  }

  private requireView(header: BlockHeader): StateView {
    const view = this.viewOf(header)
    if (view === undefined) throw new ChainError('state-gone', `the state of block ${header.number} was pruned`)
    return view
  }

  private witnessModules(parent: BlockHeader, client: AbortSignal): WitnessModules {
    return { evm: this.evm, store: this.reads, view: this.requireView(parent), client }
  }

  private placeOf({ blockHash, ...changes }: CallPlace): SimulationPlace {
    return { ...changes, header: this.requireHeader(blockHash) }
  }

  private requireHeader(hash: Hex): BlockHeader {
    const header = this.blockReader.header(hash)
    if (header === undefined) throw new ChainError('unknown-block', `block ${hash} is not known`)
    return header
  }
}
