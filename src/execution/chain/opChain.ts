import type { Clock } from '../../lib/clock.ts'
import { DeviumError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'
import { createSemaphore } from '../../lib/semaphore.ts'
import { whenAborted } from '../../lib/untilAborted.ts'
import { type PayloadEnvelope, ZERO_HASH } from '../../rollup/protocol/types.ts'
import { OpBuildJob } from '../block/buildJob.ts'
import type { FeeSchedule } from '../block/executeTransaction.ts'
import { createFeeSchedule } from '../block/feeSchedule.ts'
import { SlowTransactions } from '../block/slowTransactions.ts'
import type { ChainConfig } from '../config/chainConfig.ts'
import { parseChainConfig } from '../config/chainConfig.ts'
import { ChainError } from '../errors.ts'
import { loadCurves } from '../evm/precompiles/index.ts'
import type { BlockHeader } from '../primitives/block.ts'
import type { StateStatistics } from '../state/stateDatabase.ts'
import { BlockImporter } from './blockImporter.ts'
import type { BuildJob, BuildRequest } from './building.ts'
import { ChainView } from './chainView.ts'
import type { ForkchoiceResult, ForkchoiceState, PayloadStatus } from './forkchoice.ts'
import { BlockReplay, type BlockReplayModules } from './storage/blockReplay.ts'
import { BlockStore } from './storage/blockStore.ts'
import { CanonicalChain, type HeadMove, headerOfLabel } from './storage/canonicalChain.ts'
import { ChainDatabase, noChain, unreadable } from './storage/chainDatabase.ts'
import type { ChainReads } from './storage/chainReads.ts'
import type { LevelStatistics } from './storage/levelStatistics.ts'
import { DEFAULT_STATE_LIMITS, type GcMode, type StateLimits, StatePruner } from './storage/statePruner.ts'
import type { ExecutedBlock, HeadChange } from './types.ts'

export interface OpenChainModules {
  logger: Logger
  clock: Clock
  /** Cancels opening, executing and building. Close the chain afterwards. */
  signal?: AbortSignal | undefined
  /** Called when the database cannot be written any more. Close the chain. */
  onWriteError?: ((error: ChainError) => void) | undefined
}

export interface OpenChainOptions {
  /** Default: full. */
  gcMode?: GcMode
  limits?: Partial<StateLimits>
}

interface OpenedChain {
  database: ChainDatabase
  pruner: StatePruner
  config: ChainConfig
  genesis: BlockHeader
  head: BlockHeader
  blocks: BlockStore
}

/** Opens the chain in a data directory. Throws UsageError if there is none or another process has it open. */
export async function openChain(
  datadir: string,
  modules: OpenChainModules,
  { gcMode = 'full', limits }: OpenChainOptions = {},
): Promise<Chain> {
  await loadCurves()
  const database = await ChainDatabase.open(datadir, { create: false, onWriteError: modules.onWriteError })
  try {
    if (database.label('genesis') === undefined) throw noChain(datadir)
    const config = parseChainConfig(database.chainConfig())
    const blocks = new BlockStore({ database }, config)
    const genesis = headerOfLabel(database, blocks, 'genesis')
    const head = headerOfLabel(database, blocks, 'head')
    if (genesis === undefined || head === undefined) throw new Error('the header of genesis or head is missing')
    const base = blocks.header(database.baseBlock() ?? ZERO_HASH)
    if (base === undefined) throw new Error('the block of the stored state is missing')
    const pruner = await StatePruner.open(database, base, gcMode, { ...DEFAULT_STATE_LIMITS, ...limits })
    const chain = new OpChain(modules, { database, pruner, config, genesis, head, blocks })
    await chain.recover(datadir)
    return chain
  } catch (error) {
    await database.close()
    throw error instanceof DeviumError ? error : unreadable(datadir, error)
  }
}

export type Chain = Pick<OpChain, keyof OpChain>

class OpChain extends ChainView {
  private readonly clock: Clock
  private readonly database: ChainDatabase
  private readonly blocks: BlockStore
  /** Serializes imports and head moves. */
  private readonly lock = createSemaphore(1)
  private readonly canonical: CanonicalChain
  private readonly importer: BlockImporter
  private readonly pruner: StatePruner
  private readonly replay: BlockReplay
  private readonly logger: Logger
  private readonly slow = new SlowTransactions()
  private readonly executedListeners = new Set<(block: ExecutedBlock) => void>()
  /** Cancels running block executions. */
  private readonly closing: AbortController
  private writesStates = false
  private closed = false

  constructor(modules: OpenChainModules, opened: OpenedChain) {
    const { blocks, database, pruner } = opened
    const canonical = new CanonicalChain({ database, blocks, clock: modules.clock }, opened.head)
    const closing = new AbortController()
    super({ reads: pruner.reads(), blocks, labels: canonical, limit: closing.signal }, opened)
    this.closing = closing
    this.clock = modules.clock
    this.logger = modules.logger
    this.database = database
    this.blocks = blocks
    this.canonical = canonical
    this.pruner = pruner
    const { evm, logger } = this
    const { signal } = modules
    whenAborted(signal, () => closing.abort(signal?.reason))
    this.importer = new BlockImporter({
      blocks,
      head: () => this.head(),
      evm,
      worldAt: (header) => this.worldAt(header),
      pruner,
      ensureState: (header) => this.replay.ensure(header),
      onExecuted: (block) => {
        for (const listener of this.executedListeners) listener(block)
      },
      logger,
    })
    this.replay = new BlockReplay(this.replayModules())
  }

  private replayModules(): BlockReplayModules {
    const { blocks, pruner, importer, logger, clock } = this
    return {
      blocks,
      hasState: (header) => this.hasState(header),
      execute: (block, parent) => importer.executeBlock(block, parent),
      keep: (header, changes) => pruner.addAgain(header, changes),
      logger,
      clock,
    }
  }

  /** Restores the state that the previous process had in memory. Call it before anything else. Throws UsageError. */
  async recover(datadir: string): Promise<void> {
    const { pruner } = this
    const { wasClosed } = await this.database.markOpen()
    const before = this.head()
    const atStart = new BlockReplay({
      ...this.replayModules(),
      hasState: (header) => pruner.isReady(header),
      keep: async (header, changes) => {
        await pruner.addAgain(header, changes)
        await this.mergeAtStart(header)
      },
    })
    const head = await atStart.findHead(before)
    if (head === undefined) {
      throw unreadable(datadir, new Error(`it has no state of block ${before.number} or of any earlier block`))
    }
    if (head.hash !== before.hash) await this.canonical.goBackTo(head)
    await this.mergeAtStart(head)
    const { number, hash } = head
    if (head.hash !== before.hash) {
      const fields = { number, hash, lost: before.number - number }
      this.logger.warn('The chain database was damaged: the chain continues from its last complete block', fields)
    } else if (!wasClosed) {
      const text = 'The database was not closed: the chain continues from the last complete block'
      this.logger.warn(text, { number, hash })
    }
  }

  private async mergeAtStart(header: BlockHeader): Promise<void> {
    if (await this.pruner.mergeOldStates(header, this.finalized())) await this.pruner.write(header)
  }

  /**
   * Executes and stores the block. Never moves the head. Serialized with setForkchoice. If the process is killed before
   * the block becomes head, the block may be lost.
   */
  importPayload(envelope: PayloadEnvelope): Promise<PayloadStatus> {
    return this.lock.run(() => {
      this.checkOpen()
      return this.importer.importPayload(envelope)
    })
  }

  /**
   * Moves the labels. The head may move back to an ancestor or to a side chain. Throws ChainError `invalid-forkchoice`
   * with op-geth's messages if safe or finalized is unknown or not canonical.
   */
  setForkchoice(state: ForkchoiceState): Promise<ForkchoiceResult> {
    return this.lock.run(async () => {
      this.checkOpen()
      const refusal = this.importer.refusalOf(state.headBlockHash)
      if (refusal !== undefined) return refusal
      const header = this.blocks.header(state.headBlockHash)
      if (header === undefined || !(await this.replay.ensure(header))) return { status: 'SYNCING' }
      await this.moveHead(this.canonical.plan(header, state))
      return { status: 'VALID', head: header }
    })
  }

  private async moveHead(move: HeadMove): Promise<void> {
    const { head, added, removed } = move.change
    const merge = () => this.pruner.mergeOldStates(head, move.finalized)
    const written = this.canonical.write(move)
    // For a child of the head, pruning does not depend on the write, so both run at once. The write runs on another
    // thread.
    const isChild = removed.length === 0 && added.length === 1 && !this.pruner.leavesBase(head)
    const merged = isChild ? merge() : undefined
    await Promise.allSettled([written, merged])
    await written
    this.canonical.adopt(move)
    if (await (merged ?? merge())) this.writeStates()
  }

  /**
   * Starts a block on `parentHash`, which must be known. Resolves when the forced transactions have run. Throws
   * ChainError `invalid-attributes` if the attributes break a fork's rules. Throws `build-failed` if a forced transaction
   * cannot be decoded or executed.
   */
  async startBuild(request: BuildRequest): Promise<BuildJob> {
    this.checkOpen()
    const { attributes, txSource, refundsWarming = false } = request
    const parent = this.blocks.header(request.parentHash)
    if (parent === undefined) throw new ChainError('unknown-block', `block ${request.parentHash} is not known`)
    if (!this.hasState(parent)) await this.lock.run(() => this.replay.ensure(parent))
    return OpBuildJob.start(
      {
        evm: this.evm,
        world: this.worldAt(parent),
        clock: this.clock,
        slow: this.slow,
        logger: this.logger,
        txSource,
        onBuilt: (built, result) => this.importer.keepBuilt(built, result),
      },
      { parent, attributes, refundsWarming },
    )
  }

  /** L1 and operator fees after the head block. */
  async l1Fees(): Promise<FeeSchedule> {
    const head = this.head()
    return createFeeSchedule(this.worldAt(head), this.config, head.timestamp)
  }

  /** Called for each block that `importPayload` executed. Not called for known blocks or blocks built here. */
  onExecuted(listener: (block: ExecutedBlock) => void): () => void {
    this.executedListeners.add(listener)
    return () => this.executedListeners.delete(listener)
  }

  /** Called after each head move, in order. The returned function unsubscribes. */
  onHead(listener: (change: HeadChange) => void): () => void {
    return this.canonical.onHead(listener)
  }

  /** Called after each forkchoice, before it is answered. The returned function unsubscribes. */
  onForkchoice(listener: (change: HeadChange) => void): () => void {
    return this.canonical.onForkchoice(listener)
  }

  /** Cancels the running block execution. */
  close(): Promise<void> {
    this.closing.abort(new DeviumError('chain-closing', 'the chain is being closed'))
    return this.lock.run(async () => {
      if (this.closed) return
      this.closed = true
      try {
        await this.pruner.writeLast(this.head())
        await this.canonical.writeClosed()
      } finally {
        await this.database.close()
      }
    })
  }

  /** For operators: LevelDB's levels, and the caches of the state. */
  statistics(): { levels: LevelStatistics[]; state: StateStatistics } {
    return { levels: this.database.statistics(), state: this.stateStatistics() }
  }

  /** The stored chain, for a view of it in another process. */
  chainReads(): ChainReads {
    return this.pruner.reads()
  }

  /** Only the next block waits for this write. */
  private writeStates(): void {
    if (this.writesStates) return
    this.writesStates = true
    void this.lock.run(async () => {
      try {
        if (!this.closed) await this.pruner.write(this.head())
      } catch (error) {
        this.logger.error('Failed to write states', { err: error })
      } finally {
        this.writesStates = false
      }
    })
  }

  private checkOpen(): void {
    if (this.closed) throw new ChainError('closed', 'the chain is closed')
  }
}
