import type { Clock } from '../../lib/clock.ts'
import { DeviumError, UsageError } from '../../lib/errors.ts'
import type { Hex } from '../../lib/hex.ts'
import type { Logger } from '../../lib/logger.ts'
import { SerialLock } from '../../lib/serialLock.ts'
import { createSlots } from '../../lib/slots.ts'
import { isForkActive } from '../../rollup/protocol/forks.ts'
import type { Fork, PayloadEnvelope } from '../../rollup/protocol/types.ts'
import { OpBuildJob } from '../block/buildJob.ts'
import { createFeeSchedule } from '../block/feeSchedule.ts'
import { childBaseFee } from '../block/headerRules.ts'
import { payloadId } from '../engineApi/payloadId.ts'
import { ChainError } from '../errors.ts'
import { EvmPool } from '../evm/evmPool.ts'
import { StateDatabase } from '../state/stateDatabase.ts'
import { WorldState } from '../state/worldState.ts'
import type { Block, BlockHeader, Receipt, TransactionLocation } from './block.ts'
import { BlockImporter } from './blockImporter.ts'
import { BlockStore } from './blockStore.ts'
import { CanonicalChain, headerOfLabel } from './canonicalChain.ts'
import { parseChainConfig, rulesAt } from './chainConfig.ts'
import { ChainDatabase, unreadable } from './chainDatabase.ts'
import { estimateGas } from './estimateGas.ts'
import { type SimulationModules, simulateCall } from './simulation.ts'
import { createStateReader } from './stateReader.ts'
import { traceTransaction } from './traceTransaction.ts'
import type {
  BuildJob,
  BuildRequest,
  CallRequest,
  CallResult,
  Chain,
  ChainConfig,
  ForkchoiceResult,
  ForkchoiceState,
  HeadChange,
  L1FeeSource,
  PayloadStatus,
  StateOverrides,
  StateReader,
  TraceOptions,
  TraceStep,
} from './types.ts'

export interface OpenChainModules {
  logger: Logger
  clock: Clock
}

interface OpenedChain {
  database: ChainDatabase
  config: ChainConfig
  genesis: BlockHeader
  head: BlockHeader
  blocks: BlockStore
}

/** Opens the chain in a data directory. Throws UsageError when there is none or another process has it. */
export async function openChain(datadir: string, modules: OpenChainModules): Promise<Chain> {
  const database = await ChainDatabase.open(datadir, { create: false })
  try {
    const config = parseChainConfig(database.chainConfig())
    const blocks = new BlockStore({ database }, config)
    const genesis = headerOfLabel(database, blocks, 'genesis')
    const head = headerOfLabel(database, blocks, 'head')
    if (genesis === undefined || head === undefined) {
      throw new UsageError(
        `datadir ${datadir} holds no chain: run "devium-geth init --datadir ${datadir} genesis.json" first`,
      )
    }
    return new OpChain(modules, { database, config, genesis, head, blocks })
  } catch (error) {
    await database.close()
    throw error instanceof DeviumError ? error : unreadable(datadir, error)
  }
}

/** Each may hold megabytes, and all together have the time that blocks leave. */
const MAX_SIMULATIONS = 8
const NO_CLIENT = new AbortController().signal

class OpChain implements Chain {
  readonly config: ChainConfig
  readonly genesis: BlockHeader
  private readonly clock: Clock
  private readonly database: ChainDatabase
  private readonly blocks: BlockStore
  private readonly states: StateDatabase
  private readonly evms: EvmPool
  private readonly simulation: SimulationModules
  private readonly simulationSlots = createSlots(MAX_SIMULATIONS)
  /** Imports and head moves happen one after the other. */
  private readonly lock = new SerialLock()
  private readonly canonical: CanonicalChain
  private readonly importer: BlockImporter
  private closed = false

  constructor(modules: OpenChainModules, opened: OpenedChain) {
    this.clock = modules.clock
    this.database = opened.database
    this.blocks = opened.blocks
    this.config = opened.config
    this.genesis = opened.genesis
    this.states = new StateDatabase({ store: this.database })
    this.evms = new EvmPool({ ancestry: this.blocks }, this.config)
    const { blocks, database, evms } = this
    const worldAt = (header: BlockHeader) => this.worldAt(header)
    this.simulation = { evms, config: this.config, worldAt }
    this.canonical = new CanonicalChain({ database, blocks, clock: modules.clock }, opened.head)
    this.importer = new BlockImporter({ blocks, evms, worldAt, logger: modules.logger }, this.config)
  }

  isForkActive(fork: Fork, timestamp: number): boolean {
    return isForkActive(this.config, fork, timestamp)
  }

  head(): BlockHeader {
    return this.canonical.head()
  }

  safe(): BlockHeader | undefined {
    return this.canonical.safe()
  }

  finalized(): BlockHeader | undefined {
    return this.canonical.finalized()
  }

  async headerByHash(hash: Hex): Promise<BlockHeader | undefined> {
    return this.blocks.header(hash)
  }

  async headerByNumber(number: number): Promise<BlockHeader | undefined> {
    return this.blocks.canonicalHeader(number)
  }

  async blockByHash(hash: Hex): Promise<Block | undefined> {
    return this.blocks.block(hash)
  }

  async blockByNumber(number: number): Promise<Block | undefined> {
    const hash = this.database.canonicalHash(number)
    return hash === undefined ? undefined : this.blocks.block(hash)
  }

  async receipts(blockHash: Hex): Promise<Receipt[] | undefined> {
    return this.blocks.receipts(blockHash)
  }

  async transactionByHash(hash: Hex): Promise<TransactionLocation | undefined> {
    const position = this.database.transaction(hash)
    const block = position === undefined ? undefined : this.blocks.block(position.blockHash)
    const transaction = position === undefined ? undefined : block?.transactions[position.index]
    if (position === undefined || block === undefined || transaction === undefined) return undefined
    return { transaction, block: block.header, index: position.index }
  }

  async isCanonical(header: BlockHeader): Promise<boolean> {
    return this.blocks.isCanonical(header)
  }

  importPayload(envelope: PayloadEnvelope): Promise<PayloadStatus> {
    return this.lock.run(() => {
      this.checkOpen()
      return this.importer.importPayload(envelope)
    })
  }

  setForkchoice(state: ForkchoiceState): Promise<ForkchoiceResult> {
    return this.lock.run(async () => {
      this.checkOpen()
      return this.importer.refusalOf(state.headBlockHash) ?? this.canonical.setForkchoice(state)
    })
  }

  async startBuild(request: BuildRequest): Promise<BuildJob> {
    this.checkOpen()
    const { attributes, txSource, signal } = request
    const parent = this.blocks.header(request.parentHash)
    if (parent === undefined) throw new ChainError('unknownBlock', `block ${request.parentHash} is not known`)
    return OpBuildJob.start(
      {
        evms: this.evms,
        world: this.worldAt(parent),
        clock: this.clock,
        txSource,
        onBuilt: (built, result) => this.importer.keepBuilt(built, result),
      },
      {
        config: this.config,
        payloadId: payloadId(parent.hash, attributes, request.version === 4 ? 3 : request.version),
        parent,
        attributes,
        signal,
      },
    )
  }

  async stateAt(blockHash: Hex): Promise<StateReader | undefined> {
    const header = this.blocks.header(blockHash)
    return header === undefined ? undefined : createStateReader(this.states, header.stateRoot)
  }

  call(request: CallRequest, blockHash: Hex, overrides?: StateOverrides, client = NO_CLIENT): Promise<CallResult> {
    return this.simulate(client, () =>
      simulateCall(this.simulation, request, this.requireHeader(blockHash), overrides, client),
    )
  }

  estimateGas(request: CallRequest, blockHash: Hex, overrides?: StateOverrides, client = NO_CLIENT): Promise<bigint> {
    return this.simulate(client, () =>
      estimateGas(this.simulation, request, this.requireHeader(blockHash), overrides, client),
    )
  }

  async traceTransaction(
    hash: Hex,
    onStep: (step: TraceStep) => void,
    options: TraceOptions = {},
  ): Promise<CallResult | undefined> {
    const position = this.database.transaction(hash)
    const block = position === undefined ? undefined : this.blocks.block(position.blockHash)
    if (position === undefined || block === undefined) return undefined
    const parent = this.requireHeader(block.header.parentHash)
    return this.simulate(options.client ?? NO_CLIENT, () =>
      traceTransaction(this.simulation, block, parent, position.index, onStep, options),
    )
  }

  async l1Fees(): Promise<L1FeeSource> {
    const head = this.head()
    return createFeeSchedule(this.worldAt(head), this.config, rulesAt(this.config, head.timestamp), head.timestamp)
  }

  nextBaseFee(parent: BlockHeader, timestamp: number): bigint {
    return childBaseFee(this.config, parent, timestamp)
  }

  onHead(listener: (change: HeadChange) => void): () => void {
    return this.canonical.onHead(listener)
  }

  /** Waits for what is under way. */
  close(): Promise<void> {
    return this.lock.run(async () => {
      if (this.closed) return
      this.closed = true
      await this.canonical.sync()
      await this.database.close()
    })
  }

  private simulate<T>(client: AbortSignal, run: () => Promise<T>): Promise<T> {
    return this.simulationSlots.run(() => {
      client.throwIfAborted()
      return run()
    })
  }

  private worldAt(header: BlockHeader): WorldState {
    return new WorldState(this.states, header.stateRoot)
  }

  private requireHeader(hash: Hex): BlockHeader {
    const header = this.blocks.header(hash)
    if (header === undefined) throw new ChainError('unknownBlock', `block ${hash} is not known`)
    return header
  }

  private checkOpen(): void {
    if (this.closed) throw new ChainError('closed', 'the chain is closed')
  }
}
