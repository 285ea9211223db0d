import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { ClassicLevel } from 'classic-level'
import { DeviumError, describeError, UsageError } from '../../../lib/errors.ts'
import { fromHex, type Hex, toHex } from '../../../lib/hex.ts'
import { makeDirectory } from '../../../lib/makeDirectory.ts'
import { ChainError } from '../../errors.ts'
import { type BlockReads, decodePosition, type TransactionPosition } from './chainReads.ts'
import {
  BASE_KEY,
  CLOSED_KEY,
  DatabaseBatch,
  keyOf,
  type Label,
  numberKey,
  type Table,
  textKey,
} from './databaseBatch.ts'
import { type LevelStatistics, parseLevelStatistics } from './levelStatistics.ts'
import { unpackHeader } from './storedHeader.ts'

/**
 * Half of LevelDB's defaults: the chain has its own caches, and the system caches the files. Two write buffers may
 * exist at once.
 */
const CACHE_BYTES = 4 * 1024 * 1024
const WRITE_BUFFER_BYTES = 2 * 1024 * 1024

/**
 * Blocks, receipts, state and labels in one LevelDB. Header, body and receipts of a block are written in one atomic
 * batch. That batch comes before or with the one that makes the block head. So a process killed at any moment leaves a
 * complete chain.
 */
export class ChainDatabase implements BlockReads {
  private readonly level: ClassicLevel<Uint8Array, Uint8Array>
  /** A batch that is written with the next one. Reads already include it. */
  private held: DatabaseBatch | undefined
  private writeError: ChainError | undefined
  private readonly onWriteError: (error: ChainError) => void

  private constructor(level: ClassicLevel<Uint8Array, Uint8Array>, onWriteError: (error: ChainError) => void) {
    this.level = level
    this.onWriteError = onWriteError
  }

  /**
   * Throws UsageError if another process has the database open, or if it has another format. Also if there is no
   * database and `create` is false. `onWriteError` is called at the first failed write, after which nothing is written:
   * close the database.
   */
  static async open(
    datadir: string,
    options: { create: boolean; onWriteError?: ((error: ChainError) => void) | undefined },
  ): Promise<ChainDatabase> {
    const path = join(datadir, 'geth', 'chaindata')
    // LevelDB's error for a missing database depends on which directories exist, and it creates some.
    if (!options.create && !existsSync(join(path, 'CURRENT'))) throw noChain(datadir)
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
    const database = new ChainDatabase(level, options.onWriteError ?? (() => {}))
    try {
      await database.checkFormat(datadir)
    } catch (error) {
      await level.close()
      throw error instanceof DeviumError ? error : unreadable(datadir, error)
    }
    return database
  }

  statistics(): LevelStatistics[] {
    return parseLevelStatistics(this.level.getProperty('leveldb.stats'))
  }

  private async checkFormat(datadir: string): Promise<void> {
    const value = this.get('meta', textKey(FORMAT_KEY))
    if (value !== undefined && value[0] === FORMAT) return
    // A new database is empty.
    if (value === undefined && this.label('genesis') === undefined) {
      const batch = new DatabaseBatch()
      batch.put('meta', textKey(FORMAT_KEY), Uint8Array.of(FORMAT))
      return this.write(batch, { sync: true })
    }
    throw new UsageError(
      `the chain database in ${datadir} has the format of another version of devium-geth. Move ${join(datadir, 'geth')} away and run "devium-geth init --datadir ${datadir} genesis.json". The rollup node then derives the chain again from L1`,
    )
  }

  /** Archive mode only. */
  node(hash: Uint8Array): Uint8Array | undefined {
    return this.get('node', hash)
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

  /**
   * Atomic. With `sync`, resolves when the batch is on the disk. Without it, the batch survives a crash of the process
   * but no power cut. Throws ChainError `database-write`.
   */
  async write(batch: DatabaseBatch, options: { sync: boolean }): Promise<void> {
    const { held } = this
    const writing = this.level.batch()
    for (const { operations } of held === undefined ? [batch] : [held, batch]) {
      for (const operation of operations) {
        if (operation.type === 'put') writing.put(operation.key, operation.value)
        else writing.del(operation.key)
      }
    }
    await this.commit(() => writing.write(options))
    if (this.held === held) this.held = undefined
  }

  /**
   * Delays a small batch of a block that is not head yet. It is written with the next batch, usually the one that makes
   * the block head. A write takes as long as a large part of an empty block.
   */
  async writeSoon(batch: DatabaseBatch): Promise<void> {
    if (this.held !== undefined || batch.operations.length > MAX_HELD) return this.write(batch, { sync: false })
    this.held = batch
  }

  close(): Promise<void> {
    return this.level.close()
  }

  /** Whether the previous process closed the database. Marks it as open. */
  async markOpen(): Promise<{ wasClosed: boolean }> {
    const wasClosed = this.get('meta', textKey(CLOSED_KEY)) !== undefined
    const batch = new DatabaseBatch()
    batch.delete('meta', textKey(CLOSED_KEY))
    await this.write(batch, { sync: true })
    return { wasClosed }
  }

  keepsAllStates(): boolean {
    return this.get('meta', textKey(ARCHIVE_KEY)) !== undefined
  }

  setKeepsAllStates(batch: DatabaseBatch): void {
    batch.put('meta', textKey(ARCHIVE_KEY), Uint8Array.of(1))
  }

  /** Hash of the block whose state is the base. */
  baseBlock(): Hex | undefined {
    const value = this.get('meta', textKey(BASE_KEY))
    return value === undefined ? undefined : toHex(value)
  }

  /** Reads a value by the whole key, without delayed batches. */
  valueAt(key: Uint8Array): Uint8Array | undefined {
    return this.level.getSync(key)
  }

  /**
   * A batch that passes each operation to LevelDB immediately. Passing tens of thousands of them together would block
   * the event loop.
   */
  largeBatch(): LargeBatch {
    return this.level.batch()
  }

  /** Atomic. Resolves when the batch is on the disk. */
  async writeLarge(batch: LargeBatch): Promise<void> {
    // The blocks of the states must be written before them.
    if (this.held !== undefined) await this.write(new DatabaseBatch(), { sync: false })
    await this.commit(() => batch.write({ sync: true }))
  }

  /** Whole keys with their values. */
  entries(range: KeyRange): AsyncIterable<[Uint8Array, Uint8Array]> {
    return this.level.iterator(range)
  }

  clear(range: KeyRange): Promise<void> {
    return this.commit(() => this.level.clear(range))
  }

  /**
   * After a failed write, LevelDB's log may end in a partial record. Later writes would succeed, and the next start
   * would not find them.
   */
  private async commit(write: () => Promise<void>): Promise<void> {
    if (this.writeError !== undefined) throw this.writeError
    try {
      await write()
    } catch (cause) {
      if (this.writeError === undefined) {
        const text = `the chain database cannot be written, and must be opened again: ${describeError(cause)}`
        this.writeError = new ChainError('database-write', text, { cause, severity: 'critical' })
        this.onWriteError(this.writeError)
      }
      throw this.writeError
    }
  }

  private get(table: Table, key: Uint8Array): Uint8Array | undefined {
    const place = keyOf(table, key)
    return this.held?.valueAt(place) ?? this.level.getSync(place)
  }
}

export type LargeBatch = ReturnType<ClassicLevel<Uint8Array, Uint8Array>['batch']>

export interface KeyRange {
  gte: Uint8Array
  lt: Uint8Array
}

/** The error for a database without a genesis block. */
export function noChain(datadir: string): UsageError {
  return new UsageError(
    `datadir ${datadir} holds no chain: run "devium-geth init --datadir ${datadir} genesis.json" first`,
  )
}

/** The error for a database that is damaged. */
export function unreadable(datadir: string, error: unknown): UsageError {
  return new UsageError(
    `the chain database in ${datadir} cannot be read: ${describeError(error)}. If it is damaged, move ${join(datadir, 'geth')} away and run "devium-geth init --datadir ${datadir} genesis.json". The rollup node then derives the chain again from L1`,
    { cause: error },
  )
}

/** Operations of a small block without new code: header, body, receipts. */
const MAX_HELD = 3
const CONFIG_KEY = 'config'
const ARCHIVE_KEY = 'archive'
const FORMAT_KEY = 'format'
/**
 * Format 1 (no mark) and 2 stored nodes by hash. Format 2 XORed the hashes of storage nodes with the hash of the
 * account's address.
 */
const FORMAT = 3
