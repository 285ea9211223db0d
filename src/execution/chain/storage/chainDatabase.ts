import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { ClassicLevel } from 'classic-level'
import { bigIntToBytes, bytesToBigInt, concatBytes, viewOf } from '../../../lib/bytes.ts'
import { describeError, UsageError } from '../../../lib/errors.ts'
import { fromHex, type Hex, toHex } from '../../../lib/hex.ts'
import { makeDirectory } from '../../../lib/makeDirectory.ts'
import { takeTurn } from '../../../lib/turns.ts'
import type { FlatDisk, FlatWrites } from '../../state/flatState.ts'
import {
  type BlockId,
  fromNodeKey,
  type NodeDelta,
  type NodeDisk,
  type NodeDiskState,
  type NodeKey,
  type NodeWrites,
  toNodeKey,
} from '../../state/nodeHistory.ts'
import { nodeKey } from '../../state/stateDatabase.ts'
import { type ChainReads, decodePosition, type TransactionPosition } from './chainReads.ts'
import {
  CLOSED_KEY,
  DatabaseBatch,
  FLAT_KEY,
  keyOf,
  type Label,
  numberKey,
  TABLE,
  type Table,
  textKey,
} from './databaseBatch.ts'
import { type LevelStatistics, parseLevelStatistics } from './levelStatistics.ts'
import { unpackHeader } from './storedHeader.ts'

/**
 * Half of what LevelDB takes by itself. What is read often is kept as it is used, in caches of the chain's own, and the system
 * keeps pages of files; of what waits to be written there may be twice as much.
 */
const CACHE_BYTES = 4 * 1024 * 1024
const WRITE_BUFFER_BYTES = 2 * 1024 * 1024

/**
 * Blocks, receipts, state and labels in one LevelDB. A block's state, body and receipts are written in one atomic batch, at
 * the latest in that which makes it head, so that a process killed at any moment finds a whole chain again.
 */
export class ChainDatabase implements ChainReads, NodeDisk, FlatDisk {
  private readonly level: ClassicLevel<Uint8Array, Uint8Array>
  /** Written with the next batch, and read as if it was. */
  private held: DatabaseBatch | undefined

  private constructor(level: ClassicLevel<Uint8Array, Uint8Array>) {
    this.level = level
  }

  /**
   * Throws UsageError when another process has it open, when there is none and `create` is false, or when it has another
   * format.
   */
  static async open(datadir: string, options: { create: boolean }): Promise<ChainDatabase> {
    const path = join(datadir, 'geth', 'chaindata')
    // LevelDB's own complaint about a missing database depends on which of its directories exist, and it makes some.
    if (!options.create && !existsSync(join(path, 'CURRENT'))) {
      throw new UsageError(
        `datadir ${datadir} holds no chain: run "devium-geth init --datadir ${datadir} genesis.json" first`,
      )
    }
    if (options.create) makeDirectory(path)
    const level = new ClassicLevel<Uint8Array, Uint8Array>(path, {
      keyEncoding: 'view',
      valueEncoding: 'view',
      createIfMissing: options.create,
      cacheSize: CACHE_BYTES,
      writeBufferSize: WRITE_BUFFER_BYTES,
    })
    try {
      await level.open()
    } catch (error) {
      const cause = error instanceof Error ? error.cause : undefined
      const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
      if (code === 'LEVEL_LOCKED') {
        throw new UsageError(`datadir ${datadir} is in use by another process`, { cause: error })
      }
      throw unreadable(datadir, error)
    }
    const database = new ChainDatabase(level)
    try {
      await database.checkFormat(datadir)
    } catch (error) {
      await level.close()
      throw error instanceof UsageError ? error : unreadable(datadir, error)
    }
    return database
  }

  statistics(): LevelStatistics[] {
    return parseLevelStatistics(this.level.getProperty('leveldb.stats'))
  }

  private async checkFormat(datadir: string): Promise<void> {
    const value = this.get('meta', textKey(FORMAT_KEY))
    if (value !== undefined && value[0] === FORMAT) return
    // A new one is empty.
    if (value === undefined && this.label('genesis') === undefined) {
      const batch = new DatabaseBatch()
      batch.put('meta', textKey(FORMAT_KEY), Uint8Array.of(FORMAT))
      return this.write(batch, { sync: true })
    }
    throw new UsageError(
      `the chain database in ${datadir} has the format of another version of devium-geth: move ${join(datadir, 'geth')} away and run "devium-geth init --datadir ${datadir} genesis.json": the rollup node derives the chain anew from L1`,
    )
  }

  node(hash: Uint8Array, owner?: Uint8Array): Uint8Array | undefined {
    return this.get('node', nodeKey(hash, owner))
  }

  code(hash: Uint8Array): Uint8Array | undefined {
    return this.get('code', hash)
  }

  header(hash: Hex): Uint8Array | undefined {
    const stored = this.get('header', fromHex(hash, 32))
    return stored === undefined ? undefined : unpackHeader(stored)
  }

  body(hash: Hex): Uint8Array | undefined {
    return this.get('body', fromHex(hash, 32))
  }

  receipts(hash: Hex): Uint8Array | undefined {
    return this.get('receipts', fromHex(hash, 32))
  }

  canonicalHash(number: number): Hex | undefined {
    const value = this.get('canonical', numberKey(number))
    return value === undefined ? undefined : toHex(value)
  }

  transaction(hash: Hex): TransactionPosition | undefined {
    const value = this.get('transaction', fromHex(hash, 32))
    return value === undefined ? undefined : decodePosition(value)
  }

  label(label: Label): Hex | undefined {
    const value = this.get('meta', textKey(label))
    return value === undefined ? undefined : toHex(value)
  }

  /** The `config` object of genesis.json. */
  chainConfig(): unknown {
    const value = this.get('meta', textKey(CONFIG_KEY))
    return value === undefined ? undefined : JSON.parse(Buffer.from(value).toString())
  }

  setChainConfig(batch: DatabaseBatch, config: unknown): void {
    batch.put('meta', textKey(CONFIG_KEY), new Uint8Array(Buffer.from(JSON.stringify(config))))
  }

  /** Atomic. With `sync` it is on the disk when this resolves; without, it survives the process but not a power cut. */
  async write(batch: DatabaseBatch, options: { sync: boolean }): Promise<void> {
    const { held } = this
    const writing = this.level.batch()
    for (const { operations } of held === undefined ? [batch] : [held, batch]) {
      for (const operation of operations) {
        if (operation.type === 'put') writing.put(operation.key, operation.value)
        else writing.del(operation.key)
      }
    }
    await writing.write(options)
    if (this.held === held) this.held = undefined
  }

  /**
   * For a block that nothing depends on until it becomes head: one of a few operations goes out with the next batch, as a
   * rule that which makes it head, since a write takes as long as a good part of an empty block.
   */
  async writeSoon(batch: DatabaseBatch): Promise<void> {
    if (this.held !== undefined || batch.operations.length > MAX_HELD) return this.write(batch, { sync: false })
    this.held = batch
  }

  close(): Promise<void> {
    return this.level.close()
  }

  /** Whether the program that had it open before closed it; from now on it counts as open. */
  async markOpen(): Promise<{ wasClosed: boolean }> {
    const wasClosed = this.get('meta', textKey(CLOSED_KEY)) !== undefined
    const batch = new DatabaseBatch()
    batch.delete('meta', textKey(CLOSED_KEY))
    await this.write(batch, { sync: true })
    return { wasClosed }
  }

  /** What NodeHistory starts from. */
  async nodeState(): Promise<NodeDiskState> {
    const extraLives = new Map<NodeKey, number>()
    for await (const [key, value] of this.entries('extraLives')) {
      extraLives.set(toNodeKey(key), viewOf(value).getUint32(0))
    }
    const deltas: BlockId[] = []
    for await (const [key] of this.entries('delta')) {
      deltas.push({ number: Number(bytesToBigInt(key.subarray(0, 8))), hash: toHex(key.subarray(8)) })
    }
    const pruned = this.get('meta', textKey(PRUNED_KEY))
    return { prunedTo: pruned === undefined ? 0 : Number(bytesToBigInt(pruned)), deltas, extraLives }
  }

  keepsAllStates(): boolean {
    return this.get('meta', textKey(ARCHIVE_KEY)) !== undefined
  }

  /** From now on no state is given up: nobody counts any more what needs a node. */
  async keepAllStates(): Promise<void> {
    if (this.keepsAllStates()) return
    const batch = new DatabaseBatch()
    for (const table of ['delta', 'extraLives'] as const) {
      for await (const [key] of this.entries(table)) batch.delete(table, key)
    }
    batch.put('meta', textKey(ARCHIVE_KEY), Uint8Array.of(1))
    await this.write(batch, { sync: true })
  }

  delta(block: BlockId): NodeDelta | undefined {
    const value = this.get('delta', deltaKey(block))
    return value === undefined ? undefined : decodeDelta(value)
  }

  leaf(key: Uint8Array): Uint8Array | undefined {
    return this.get('leaf', key)
  }

  /** Whose state the leaves are; undefined when they are not whole. */
  flatBlock(): Hex | undefined {
    const value = this.get('meta', textKey(FLAT_KEY))
    return value === undefined ? undefined : toHex(value)
  }

  /** From now on there is no flat state. */
  async clearFlat(): Promise<void> {
    const batch = new DatabaseBatch()
    batch.delete('meta', textKey(FLAT_KEY))
    await this.write(batch, { sync: true })
    await this.level.clear(rangeOf('leaf'))
  }

  /** Atomic, and on the disk when this resolves. */
  async writeStates(nodes: NodeWrites | undefined, flat: FlatWrites | undefined): Promise<void> {
    // States belong to blocks that are there.
    if (this.held !== undefined) await this.write(new DatabaseBatch(), { sync: false })
    // Each operation goes to LevelDB at once, so that tens of thousands do not hold the event loop.
    const batch = this.level.batch()
    if (nodes !== undefined) await putNodes(batch, nodes)
    if (flat !== undefined) await putLeaves(batch, flat)
    await batch.write({ sync: true })
  }

  /** Keys without their table. */
  private async *entries(table: Table): AsyncGenerator<[Uint8Array, Uint8Array]> {
    for await (const [key, value] of this.level.iterator(rangeOf(table))) yield [key.subarray(1), value]
  }

  private get(table: Table, key: Uint8Array): Uint8Array | undefined {
    const place = keyOf(table, key)
    return this.held?.valueAt(place) ?? this.level.getSync(place)
  }
}

type WriteBatch = ReturnType<ClassicLevel<Uint8Array, Uint8Array>['batch']>

async function putLeaves(batch: WriteBatch, { leaves, blockHash }: FlatWrites): Promise<void> {
  for (const [key, value] of leaves) {
    await takeTurn()
    const place = keyOf('leaf', fromNodeKey(key))
    if (value === null) batch.del(place)
    else batch.put(place, value)
  }
  batch.put(keyOf('meta', textKey(FLAT_KEY)), fromHex(blockHash, 32))
}

async function putNodes(batch: WriteBatch, writes: NodeWrites): Promise<void> {
  for (const [key, encoding] of writes.puts) {
    await takeTurn()
    batch.put(keyOf('node', fromNodeKey(key)), encoding)
  }
  for (const key of writes.deletes) {
    await takeTurn()
    batch.del(keyOf('node', fromNodeKey(key)))
  }
  for (const [key, count] of writes.extraLives) {
    if (count === 0) batch.del(keyOf('extraLives', fromNodeKey(key)))
    else batch.put(keyOf('extraLives', fromNodeKey(key)), bigIntToBytes(BigInt(count), 4))
  }
  for (const block of writes.endedDeltas) batch.del(keyOf('delta', deltaKey(block)))
  for (const { block, delta } of writes.deltas) {
    await takeTurn()
    batch.put(keyOf('delta', deltaKey(block)), encodeDelta(delta))
  }
  batch.put(keyOf('meta', textKey(PRUNED_KEY)), numberKey(writes.prunedTo))
}

/** What an operator is told about a database that LevelDB refuses. */
export function unreadable(datadir: string, error: unknown): UsageError {
  return new UsageError(
    `the chain database in ${datadir} cannot be read: ${describeError(error)}. If it is damaged, move ${join(datadir, 'geth')} away and run "devium-geth init --datadir ${datadir} genesis.json": the rollup node derives the chain anew from L1`,
    { cause: error },
  )
}

/** Operations of a small block without new code: header, body, receipts. */
const MAX_HELD = 3
const CONFIG_KEY = 'config'
const PRUNED_KEY = 'pruned'
const ARCHIVE_KEY = 'archive'
const FORMAT_KEY = 'format'
/** 1, without a mark: nodes of storage tries under their plain hash. */
const FORMAT = 2

function deltaKey({ number, hash }: BlockId): Uint8Array {
  return concatBytes(numberKey(number), fromHex(hash, 32))
}

/** Count of added keys (u32), those, and the replaced ones: 32 bytes each. */
function encodeDelta({ added, replaced }: NodeDelta): Uint8Array {
  const count = bigIntToBytes(BigInt(added.length), 4)
  return concatBytes(count, fromNodeKey(added.join('')), fromNodeKey(replaced.join('')))
}

function decodeDelta(bytes: Uint8Array): NodeDelta {
  const end = 4 + viewOf(bytes).getUint32(0) * 32
  return { added: keysIn(bytes.subarray(4, end)), replaced: keysIn(bytes.subarray(end)) }
}

function keysIn(bytes: Uint8Array): NodeKey[] {
  const text = toNodeKey(bytes)
  return Array.from({ length: text.length / 32 }, (_, index) => text.slice(index * 32, index * 32 + 32))
}

function rangeOf(table: Table): { gte: Uint8Array; lt: Uint8Array } {
  const prefix = TABLE[table].charCodeAt(0)
  return { gte: Uint8Array.of(prefix), lt: Uint8Array.of(prefix + 1) }
}
