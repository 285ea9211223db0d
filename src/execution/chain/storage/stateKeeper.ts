import type { Clock } from '../../../lib/clock.ts'
import { UsageError } from '../../../lib/errors.ts'
import type { Hex } from '../../../lib/hex.ts'
import type { Logger } from '../../../lib/logger.ts'
import type { BlockHeader } from '../../primitives/block.ts'
import { type BlockId, NodeHistory } from '../../state/nodeHistory.ts'
import type { StateChanges } from '../../state/stateChanges.ts'
import { nodeKey } from '../../state/stateDatabase.ts'
import type { ChainDatabase } from './chainDatabase.ts'
import type { ChainReads } from './chainReads.ts'
import { DatabaseBatch } from './databaseBatch.ts'
import { FlatKeeper } from './flatKeeper.ts'

/** geth's `--gcmode`: the latest states and the finalized one are kept, or all. */
export type GcMode = 'full' | 'archive'

export interface StateLimits {
  /** States kept below the head, counting the head's. */
  recentStates: number
  /** Gas of blocks that may have to be executed again after a crash, about: ten seconds of work. */
  unwrittenGas: number
  /** Memory for states that are not written yet. */
  unwrittenBytes: number
}

export const DEFAULT_STATE_LIMITS: StateLimits = {
  recentStates: 128,
  unwrittenGas: 1_000_000_000,
  unwrittenBytes: 64 * 1024 * 1024,
}

/** What executing an empty block costs beside its gas. */
const BLOCK_GAS = 15_000
/** Each head gives up so many states at most, so that a finalized block far ahead does not hold up the chain. */
const PRUNED_AT_ONCE = 4

export interface StateKeeperModules {
  database: ChainDatabase
  logger: Logger
  clock: Clock
  /** Ends what takes long. */
  signal?: AbortSignal | undefined
}

/** Memory in archive mode for what the flat state on the disk lacks. */
const UNWRITTEN_LEAVES_BYTES = 32 * 1024 * 1024

/**
 * Which states are kept, and where: see NodeHistory, and FlatKeeper for the one that can be read without its trie. In
 * archive mode each state is written with its block.
 */
export class StateKeeper {
  private readonly database: ChainDatabase
  private readonly history: NodeHistory
  private readonly mode: GcMode
  private readonly limits: StateLimits
  readonly flat: FlatKeeper

  private constructor(modules: StateKeeperModules, history: NodeHistory, mode: GcMode, limits: StateLimits) {
    this.database = modules.database
    this.history = history
    this.mode = mode
    this.limits = limits
    // Its block is never below the oldest state that is kept, whose trie can bring it to another one.
    this.flat = new FlatKeeper({ ...modules, nodes: this.reads() }, limits.recentStates - 1)
  }

  /** Throws UsageError for a database that holds all states when they are to be given up. */
  static async open(modules: StateKeeperModules, mode: GcMode, limits: StateLimits): Promise<StateKeeper> {
    const { database } = modules
    if (mode === 'archive') await database.keepAllStates()
    else if (database.keepsAllStates()) {
      throw new UsageError(
        'the chain database holds the states of all blocks: start with --gcmode archive, or make a new one with "devium-geth init"',
      )
    }
    return new StateKeeper(modules, new NodeHistory(database, await database.nodeState()), mode, limits)
  }

  get prunedTo(): number {
    return this.history.prunedTo
  }

  /** The database as readers see it, with the nodes that are not written yet. */
  reads(): ChainReads {
    const { database, history } = this
    return {
      node: (hash, owner) => history.node(nodeKey(hash, owner)),
      code: (hash) => database.code(hash),
      header: (hash) => database.header(hash),
      body: (hash) => database.body(hash),
      receipts: (hash) => database.receipts(hash),
      canonicalHash: (number) => database.canonicalHash(number),
      transaction: (hash) => database.transaction(hash),
    }
  }

  /** What is written together with the block. */
  toWrite(changes: StateChanges): StateChanges {
    return this.mode === 'archive' ? changes : { ...changes, nodes: [] }
  }

  /** The block is written. */
  add(
    { number, hash, parentHash, gasUsed }: BlockId & Pick<BlockHeader, 'parentHash' | 'gasUsed'>,
    changes: StateChanges,
  ): void {
    this.flat.add({ number, hash, parentHash }, changes)
    if (this.mode === 'archive') return
    this.history.add({ number, hash }, changes, Number(gasUsed) + BLOCK_GAS)
  }

  /** A block that was executed again. */
  async addAgain(header: BlockHeader, changes: StateChanges): Promise<void> {
    this.add(header, changes)
    if (this.mode === 'full') return
    const batch = new DatabaseBatch()
    for (const { key, encoding } of changes.nodes) batch.put('node', key, encoding)
    await this.database.write(batch, { sync: false })
  }

  /** The head has moved: gives up what is too old. Returns whether it is time to `write`. */
  async settle(head: BlockHeader, finalized: BlockHeader | undefined): Promise<boolean> {
    // While the trie that leads there is whole.
    await this.flat.follow(head)
    if (this.mode === 'full') this.prune(head, finalized)
    this.flat.settle(head, this.history.prunedTo)
    if (this.mode === 'archive') return this.flat.unwrittenBytes >= UNWRITTEN_LEAVES_BYTES
    return this.isFull() || this.history.unwritten.settledCost >= this.limits.unwrittenGas
  }

  private prune(head: BlockHeader, finalized: BlockHeader | undefined): void {
    const recent = head.number - this.limits.recentStates + 1
    const oldest = Math.min(recent, finalized?.number ?? recent)
    this.history.pruneTo(oldest, (number): Hex | undefined => this.database.canonicalHash(number), PRUNED_AT_ONCE)
  }

  /** Makes room. */
  write(): Promise<void> {
    return this.writeStates(this.isFull())
  }

  /** Before the program ends: leaves what is executed again in a moment. */
  writeLast(): Promise<void> {
    return this.writeStates(this.history.unwritten.pendingCost > this.limits.unwrittenGas / 10)
  }

  private async writeStates(all: boolean): Promise<void> {
    const nodes = this.mode === 'archive' ? undefined : await this.history.writes(all)
    const flat = this.flat.writes()
    await this.database.writeStates(nodes, flat)
    nodes?.done()
    flat?.done()
  }

  /** The states that may still leave the chain fill the memory, or would take too long to come by again. */
  private isFull(): boolean {
    const { unwritten, bytes } = this.history
    return (
      bytes + this.flat.unwrittenBytes >= this.limits.unwrittenBytes ||
      unwritten.pendingCost >= this.limits.unwrittenGas
    )
  }
}
