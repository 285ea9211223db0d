import { UsageError } from '../../../lib/errors.ts'
import { keccak256 } from '../../../lib/hash.ts'
import { fromHex, type Hex } from '../../../lib/hex.ts'
import { yieldToLoop } from '../../../lib/yieldToLoop.ts'
import type { BlockHeader } from '../../primitives/block.ts'
import type { BlockId } from '../../state/diskLayer.ts'
import { LayerTree } from '../../state/layerTree.ts'
import type { StateView } from '../../state/stateDatabase.ts'
import { isNodeKey, type StateChanges } from '../../state/stateKeys.ts'
import type { ChainDatabase } from './chainDatabase.ts'
import type { ChainReads } from './chainReads.ts'
import { DatabaseBatch, TABLE, tableRange } from './databaseBatch.ts'
import { decodeVersion, keyOfReplaced, StateDisk } from './stateDisk.ts'

/** geth's `--gcmode`. `full` keeps the latest states and the finalized one, `archive` keeps all. */
export type GcMode = 'full' | 'archive'

export interface StateLimits {
  /** Number of latest states kept, the head's included. */
  recentStates: number
  /** Gas of the blocks that a crash may force to execute again: about ten seconds of work. */
  unwrittenGas: number
  unwrittenBytes: number
}

export const DEFAULT_STATE_LIMITS: StateLimits = {
  recentStates: 128,
  unwrittenGas: 1_000_000_000,
  unwrittenBytes: 64 * 1024 * 1024,
}

/** Cost of executing an empty block, in gas. */
const BLOCK_GAS = 15_000
/** Most states that one head move merges or drops, so that a finalized block far ahead does not block the chain. */
const PRUNED_AT_ONCE = 4
/** Nodes in one write when a database becomes an archive. */
const NODES_A_WRITE = 2000

/**
 * Decides which states are kept and when they are written; see LayerTree. In archive mode, all nodes of a state are
 * also written with its block, by their hashes. All states can be read from there.
 */
export class StatePruner {
  private readonly database: ChainDatabase
  private readonly tree: LayerTree
  private readonly mode: GcMode
  private readonly limits: StateLimits

  private constructor(database: ChainDatabase, tree: LayerTree, mode: GcMode, limits: StateLimits) {
    this.database = database
    this.tree = tree
    this.mode = mode
    this.limits = limits
  }

  /**
   * Throws UsageError if the database holds all states and `mode` is full.
   *
   * @param base the block whose state the database holds
   */
  static async open(database: ChainDatabase, base: BlockId, mode: GcMode, limits: StateLimits): Promise<StatePruner> {
    const isArchive = database.keepsAllStates()
    if (mode === 'full' && isArchive) {
      throw new UsageError(
        'the chain database is an archive: start with --gcmode archive, or create a new database with "devium-geth init"',
      )
    }
    if (mode === 'archive' && !isArchive) await convertToArchive(database)
    const disk = new StateDisk(database)
    const history = await disk.open()
    return new StatePruner(database, new LayerTree(disk, base, history), mode, limits)
  }

  /** The database with the unwritten states, for readers. */
  reads(): ChainReads {
    const { database } = this
    return {
      stateAt: (blockHash) => this.stateAt(blockHash),
      code: (hash) => database.code(hash),
      header: (hash) => database.header(hash),
      body: (hash) => database.body(hash),
      receipts: (hash) => database.receipts(hash),
      canonicalHash: (number) => database.canonicalHash(number),
      transaction: (hash) => database.transaction(hash),
    }
  }

  /** Whether later blocks can be executed on the state and read without its tries. */
  isReady({ hash, number, stateRoot }: BlockHeader): boolean {
    if (this.tree.has(hash)) return true
    const isBefore = this.mode === 'archive' && number < this.tree.baseBlock.number
    return isBefore && this.database.node(fromHex(stateRoot)) !== undefined
  }

  /** Nodes that are written with the block. */
  nodesToWrite({ writes }: StateChanges): Uint8Array[] {
    const nodes: Uint8Array[] = []
    if (this.mode === 'full') return nodes
    for (const [key, value] of writes) if (value !== null && isNodeKey(key)) nodes.push(value)
    return nodes
  }

  /** Adds the state of a written block. */
  add(
    { number, hash, parentHash, gasUsed }: BlockId & Pick<BlockHeader, 'parentHash' | 'gasUsed'>,
    { writes }: Pick<StateChanges, 'writes'>,
  ): void {
    this.tree.add({ number, hash }, parentHash, writes, Number(gasUsed) + BLOCK_GAS)
  }

  /** Adds the state of a block that was executed again. */
  async addAgain(header: BlockHeader, changes: StateChanges): Promise<void> {
    this.add(header, changes)
    if (this.mode === 'full') return
    const batch = new DatabaseBatch()
    for (const node of this.nodesToWrite(changes)) batch.put('node', keccak256(node), node)
    await this.database.write(batch, { sync: false })
  }

  /** Whether `mergeOldStates` must first restore earlier states on the disk. */
  leavesBase(head: BlockHeader): boolean {
    return this.tree.descendsFromBase(head.hash) === false
  }

  /** Follows a move of the head: merges or drops old states. Resolves with whether `write` is due. */
  async mergeOldStates(head: BlockHeader, finalized: BlockHeader | undefined): Promise<boolean> {
    while (this.leavesBase(head)) await this.tree.stepBack()
    const recent = head.number - this.limits.recentStates + 1
    const oldest = Math.max(Math.min(recent, finalized?.number ?? recent), 0)
    this.tree.mergeOldLayers(head.hash, oldest, PRUNED_AT_ONCE)
    const { buffered, layered } = this.tree.unwritten
    const { unwrittenBytes, unwrittenGas } = this.limits
    return buffered.bytes + layered.bytes >= unwrittenBytes || Math.max(buffered.gas, layered.gas) >= unwrittenGas
  }

  /** Writes half of the allowed amount, so that later blocks are not written one by one. */
  async write(head: BlockHeader): Promise<void> {
    const rest = { gas: this.limits.unwrittenGas / 2, bytes: this.limits.unwrittenBytes / 2 }
    await this.tree.write(head.hash, rest)
    if (this.tree.unwritten.layered.bytes > rest.bytes) this.tree.dropBranches(head.hash)
  }

  /** Writes before the program ends. Leaves states that the next start executes again within a moment. */
  writeLast(head: BlockHeader): Promise<void> {
    return this.tree.write(head.hash, { gas: this.limits.unwrittenGas / 10, bytes: Number.POSITIVE_INFINITY })
  }

  private stateAt(blockHash: Hex): StateView | undefined {
    const view = this.tree.at(blockHash)
    if (view !== undefined || this.mode === 'full') return view
    return { node: (_, hash) => this.database.node(hash), leaf: () => undefined, isPruned: () => false }
  }
}

/** Converts the database to archive mode: also stores the nodes of the base and of its history by their hashes. */
async function convertToArchive(database: ChainDatabase): Promise<void> {
  let batch = new DatabaseBatch()
  for (const letter of ['A', 'O', TABLE.replaced]) {
    for await (const [key, stored] of database.entries(tableRange(letter))) {
      await yieldToLoop()
      const { value } = decodeVersion(stored)
      const isNode = letter !== TABLE.replaced || isNodeKey(keyOfReplaced(key))
      if (value !== null && isNode) batch.put('node', keccak256(value), value)
      if (batch.operations.length < NODES_A_WRITE) continue
      await database.write(batch, { sync: false })
      batch = new DatabaseBatch()
    }
  }
  database.setKeepsAllStates(batch)
  await database.write(batch, { sync: true })
}
