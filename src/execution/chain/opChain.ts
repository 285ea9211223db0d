import type { Clock } from '../../lib/clock.ts'
import { DecodeError, UsageError } from '../../lib/errors.ts'
import { type Hex, toHex } from '../../lib/hex.ts'
import type { Logger } from '../../lib/logger.ts'
import { SerialLock } from '../../lib/serialLock.ts'
import { payloadToHeader } from '../../rollup/protocol/index.ts'
import { type Fork, type PayloadEnvelope, ZERO_HASH } from '../../rollup/protocol/types.ts'
import { BlockExecution, type ExecutionResult } from '../block/blockExecution.ts'
import { OpBuildJob } from '../block/buildJob.ts'
import { createFeeSchedule } from '../block/feeSchedule.ts'
import { checkExecution, checkHeader, childBaseFee } from '../block/headerRules.ts'
import { payloadId } from '../engineApi/payloadId.ts'
import { ChainError } from '../errors.ts'
import { contextOf, EvmPool } from '../evm/evmPool.ts'
import { StateDatabase } from '../state/stateDatabase.ts'
import { WorldState } from '../state/worldState.ts'
import { takeTurn } from '../turns.ts'
import { decodeTransaction } from '../tx/decodeTransaction.ts'
import { BlockStore, toBlock } from './blockStore.ts'
import { isForkActive, parseChainConfig, rulesAt } from './chainConfig.ts'
import { ChainDatabase, DatabaseBatch } from './chainDatabase.ts'
import { estimateGas } from './estimateGas.ts'
import { sealHeader } from './headerCodec.ts'
import { type SimulationModules, simulateCall } from './simulation.ts'
import { createStateReader } from './stateReader.ts'
import { traceTransaction } from './traceTransaction.ts'
import type {
  Block,
  BlockHeader,
  BuildJob,
  BuildRequest,
  BuiltBlock,
  CallRequest,
  CallResult,
  Chain,
  ChainConfig,
  ForkchoiceResult,
  ForkchoiceState,
  HeadChange,
  L1FeeSource,
  PayloadStatus,
  Receipt,
  StateOverrides,
  StateReader,
  TraceStep,
  Transaction,
  TransactionLocation,
} from './types.ts'

/** Blocks built here that importing need not execute again. */
const KEPT_BUILDS = 4
/** Labels reach the disk at least this often; in between they survive the process, not a power cut. */
const SYNC_INTERVAL_MS = 1000

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
    throw error
  }
}

function headerOfLabel(
  database: ChainDatabase,
  blocks: BlockStore,
  label: Parameters<ChainDatabase['label']>[0],
): BlockHeader | undefined {
  const hash = database.label(label)
  return hash === undefined ? undefined : blocks.header(hash)
}

class OpChain implements Chain {
  readonly config: ChainConfig
  readonly genesis: BlockHeader
  private readonly logger: Logger
  private readonly clock: Clock
  private readonly database: ChainDatabase
  private readonly blocks: BlockStore
  private readonly states: StateDatabase
  private readonly evms: EvmPool
  private readonly simulation: SimulationModules
  /** Imports and head moves happen one after the other. */
  private readonly lock = new SerialLock()
  private readonly listeners = new Set<(change: HeadChange) => void>()
  private readonly built = new Map<Hex, { block: Block; result: ExecutionResult }>()
  private headHeader: BlockHeader
  private safeHeader: BlockHeader | undefined
  private finalizedHeader: BlockHeader | undefined
  private syncedAtMs = 0
  private closed = false

  constructor(modules: OpenChainModules, opened: OpenedChain) {
    this.logger = modules.logger
    this.clock = modules.clock
    this.database = opened.database
    this.blocks = opened.blocks
    this.config = opened.config
    this.genesis = opened.genesis
    this.headHeader = opened.head
    this.safeHeader = headerOfLabel(this.database, this.blocks, 'safe')
    this.finalizedHeader = headerOfLabel(this.database, this.blocks, 'finalized')
    this.states = new StateDatabase({ store: this.database })
    this.evms = new EvmPool({ ancestry: this.blocks }, this.config)
    this.simulation = { evms: this.evms, config: this.config, worldAt: (header) => this.worldAt(header) }
  }

  isForkActive(fork: Fork, timestamp: number): boolean {
    return isForkActive(this.config, fork, timestamp)
  }

  head(): BlockHeader {
    return this.headHeader
  }

  safe(): BlockHeader | undefined {
    return this.safeHeader
  }

  finalized(): BlockHeader | undefined {
    return this.finalizedHeader
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
    return this.lock.run(() => this.importNow(envelope))
  }

  private async importNow(envelope: PayloadEnvelope): Promise<PayloadStatus> {
    this.checkOpen()
    const { payload } = envelope
    if (this.blocks.header(payload.blockHash) !== undefined)
      return { status: 'VALID', latestValidHash: payload.blockHash }
    let block: Block
    try {
      block = await this.blockOf(envelope)
    } catch (error) {
      if (error instanceof DecodeError || error instanceof ChainError) return invalidPayload(error.message, null)
      throw error
    }
    const parent = this.blocks.header(payload.parentHash)
    if (parent === undefined) return { status: 'SYNCING', latestValidHash: null }
    try {
      const result = await this.executeBlock(block, parent)
      await this.blocks.write(block, result.receipts, result.changes)
    } catch (error) {
      if (!(error instanceof ChainError) || (error.code !== 'invalidBlock' && error.code !== 'invalidTransaction'))
        throw error
      this.logger.warn('Refused invalid block', { number: payload.blockNumber, hash: payload.blockHash, err: error })
      return invalidPayload(error.message, parent.hash)
    }
    this.built.delete(payload.blockHash)
    return { status: 'VALID', latestValidHash: payload.blockHash }
  }

  /** Throws DecodeError or ChainError for a payload that cannot be a block. */
  private async blockOf(envelope: PayloadEnvelope): Promise<Block> {
    const header = headerOfPayload(envelope)
    // The hash stands for the transactions too: a block that was built here need not be decoded again.
    const known = this.built.get(header.hash)
    return known?.block ?? toBlock(header, await decodeTransactions(envelope.payload.transactions))
  }

  private async executeBlock(block: Block, parent: BlockHeader): Promise<ExecutionResult> {
    const { header, transactions } = block
    const known = this.built.get(header.hash)
    if (known !== undefined) return known.result
    checkHeader(header, parent, this.config)
    using lease = this.evms.lease(this.worldAt(parent), contextOf(header), parent.hash)
    const execution = new BlockExecution(lease.env, this.config)
    await execution.begin({ parentHash: parent.hash, parentBeaconBlockRoot: header.parentBeaconBlockRoot })
    for (const [index, tx] of transactions.entries()) {
      await takeTurn()
      try {
        await execution.add(tx)
      } catch (error) {
        if (!(error instanceof ChainError)) throw error
        throw new ChainError('invalidBlock', `could not apply tx ${index} [${tx.hash}]: ${error.message}`, {
          cause: error,
        })
      }
    }
    const result = execution.finish()
    checkExecution(header, result)
    return result
  }

  setForkchoice(state: ForkchoiceState): Promise<ForkchoiceResult> {
    return this.lock.run(() => this.setForkchoiceNow(state))
  }

  private async setForkchoiceNow(state: ForkchoiceState): Promise<ForkchoiceResult> {
    this.checkOpen()
    const head = this.blocks.header(state.headBlockHash)
    if (head === undefined) return { status: 'SYNCING' }
    const change = this.pathTo(head)
    const batch = new DatabaseBatch()
    if (change.removed.length > 0 || change.added.length > 0) this.moveCanonical(batch, change)
    // Safe and finalized must lie on the new canonical chain: looked up before it is written.
    const finalized = this.labelled(state.finalizedBlockHash, head, change, 'final')
    const safe = this.labelled(state.safeBlockHash, head, change, 'safe')
    if (head.hash !== this.headHeader.hash) batch.setLabel('head', head.hash)
    if (finalized !== undefined && finalized.hash !== this.finalizedHeader?.hash)
      batch.setLabel('finalized', finalized.hash)
    if (safe !== undefined && safe.hash !== this.safeHeader?.hash) batch.setLabel('safe', safe.hash)
    if (batch.operations.length > 0) {
      const nowMs = this.clock.now()
      const sync = nowMs - this.syncedAtMs >= SYNC_INTERVAL_MS
      if (sync) this.syncedAtMs = nowMs
      await this.database.write(batch, { sync })
    }
    const moved = head.hash !== this.headHeader.hash
    this.headHeader = head
    this.finalizedHeader = finalized ?? this.finalizedHeader
    this.safeHeader = safe ?? this.safeHeader
    if (moved) for (const listener of this.listeners) listener(change)
    return { status: 'VALID', head }
  }

  /** Which blocks leave and join the canonical chain when `head` becomes its end. */
  private pathTo(head: BlockHeader): HeadChange {
    const added: BlockHeader[] = []
    let ancestor = head
    while (!this.blocks.isCanonical(ancestor)) {
      added.unshift(ancestor)
      const parent = this.blocks.header(ancestor.parentHash)
      if (parent === undefined)
        throw new ChainError('unknownBlock', `ancestor ${ancestor.parentHash} is not in the database`)
      ancestor = parent
    }
    const removed: BlockHeader[] = []
    for (let number = this.headHeader.number; number > ancestor.number; number--) {
      const header = this.blocks.canonicalHeader(number)
      if (header !== undefined) removed.push(header)
    }
    return { head, removed, added }
  }

  private moveCanonical(batch: DatabaseBatch, { removed, added }: HeadChange): void {
    for (const header of removed) {
      batch.removeCanonical(header.number)
      for (const { hash } of this.blocks.block(header.hash)?.transactions ?? []) batch.removeTransaction(hash)
    }
    for (const header of added) {
      batch.setCanonical(header.number, header.hash)
      const transactions = this.blocks.block(header.hash)?.transactions ?? []
      for (const [index, { hash }] of transactions.entries())
        batch.setTransaction(hash, { blockHash: header.hash, index })
    }
  }

  private labelled(hash: Hex, head: BlockHeader, change: HeadChange, name: 'final' | 'safe'): BlockHeader | undefined {
    if (hash === ZERO_HASH) return undefined
    const header = this.blocks.header(hash)
    if (header === undefined) throw new ChainError('invalidForkchoice', `${name} block not available in database`)
    const isAdded = change.added.some((added) => added.hash === hash)
    const wasRemoved = change.removed.some((removed) => removed.hash === hash)
    const isKept = this.blocks.isCanonical(header) && !wasRemoved && header.number <= head.number
    if (!isAdded && !isKept) throw new ChainError('invalidForkchoice', `${name} block not in canonical chain`)
    return header
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
        txSource,
        onBuilt: (built, result) => this.keepBuilt(built, result),
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

  private keepBuilt({ block }: BuiltBlock, result: ExecutionResult): void {
    this.built.set(block.header.hash, { block, result })
    if (this.built.size <= KEPT_BUILDS) return
    for (const oldest of this.built.keys()) {
      this.built.delete(oldest)
      break
    }
  }

  async stateAt(blockHash: Hex): Promise<StateReader | undefined> {
    const header = this.blocks.header(blockHash)
    return header === undefined ? undefined : createStateReader(this.states, header.stateRoot)
  }

  async call(request: CallRequest, blockHash: Hex, overrides?: StateOverrides): Promise<CallResult> {
    return simulateCall(this.simulation, request, this.requireHeader(blockHash), overrides)
  }

  async estimateGas(request: CallRequest, blockHash: Hex, overrides?: StateOverrides): Promise<bigint> {
    return estimateGas(this.simulation, request, this.requireHeader(blockHash), overrides)
  }

  async traceTransaction(hash: Hex, onStep: (step: TraceStep) => void): Promise<CallResult | undefined> {
    const position = this.database.transaction(hash)
    const block = position === undefined ? undefined : this.blocks.block(position.blockHash)
    if (position === undefined || block === undefined) return undefined
    return traceTransaction(this.simulation, block, this.requireHeader(block.header.parentHash), position.index, onStep)
  }

  async l1Fees(): Promise<L1FeeSource> {
    const head = this.headHeader
    return createFeeSchedule(this.worldAt(head), this.config, rulesAt(this.config, head.timestamp), head.timestamp)
  }

  nextBaseFee(parent: BlockHeader, timestamp: number): bigint {
    return childBaseFee(this.config, parent, timestamp)
  }

  onHead(listener: (change: HeadChange) => void): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  /** Waits for what is under way. */
  close(): Promise<void> {
    return this.lock.run(async () => {
      if (this.closed) return
      this.closed = true
      // An empty synchronous batch makes everything written before it durable.
      const batch = new DatabaseBatch()
      batch.setLabel('head', this.headHeader.hash)
      await this.database.write(batch, { sync: true })
      await this.database.close()
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

/** Throws DecodeError or ChainError for a payload that cannot be a block. */
function headerOfPayload(envelope: PayloadEnvelope): BlockHeader {
  const { payload } = envelope
  if (payload.withdrawals !== undefined && payload.withdrawals.length > 0) {
    throw new ChainError('invalidBlock', 'withdrawals must be empty on OP Stack chains')
  }
  const { unclesHash, coinbase, baseFeePerGas, ...rest } = payloadToHeader(envelope)
  const header = sealHeader({
    ...rest,
    sha3Uncles: unclesHash,
    miner: coinbase,
    baseFeePerGas: baseFeePerGas ?? payload.baseFeePerGas,
  })
  if (header.hash !== payload.blockHash) {
    throw new ChainError('invalidBlock', `blockhash mismatch, want ${payload.blockHash}, got ${header.hash}`)
  }
  return header
}

/** Recovering senders is what takes long: the event loop gets its turns. */
async function decodeTransactions(encodings: readonly Uint8Array[]): Promise<Transaction[]> {
  const transactions: Transaction[] = []
  for (const [index, raw] of encodings.entries()) {
    await takeTurn()
    try {
      transactions.push(decodeTransaction(raw))
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error
      const type = toHex(raw.subarray(0, 1))
      throw new ChainError('invalidBlock', `invalid transaction ${index} (${type}): ${error.message}`, { cause: error })
    }
  }
  return transactions
}

function invalidPayload(validationError: string, latestValidHash: Hex | null): PayloadStatus {
  return { status: 'INVALID', latestValidHash, validationError }
}
