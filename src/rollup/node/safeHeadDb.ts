import { ClassicLevel } from 'classic-level'
import { viewOf } from '../../lib/bytes.ts'
import { DecodeError, DeviumError, describeError, isErrno, UsageError } from '../../lib/errors.ts'
import { fromHex, toHex } from '../../lib/hex.ts'
import { makeDirectory } from '../../lib/makeDirectory.ts'
import type { SafeHeadHistory } from '../engine/index.ts'
import type { BlockId, L2BlockRef } from '../protocol/types.ts'

/**
 * `safe-db-unavailable`: the history begins above the requested block. `safe-db-write` (reset): a write failed.
 * `safe-db-damaged`: the message has the path and the remedy.
 */
export class SafeHeadDbError extends DeviumError<
  'safe-db-not-found' | 'safe-db-unavailable' | 'safe-db-closed' | 'safe-db-write' | 'safe-db-damaged'
> {
  override readonly name = 'SafeHeadDbError'
}

/** The data of L1 block `l1` made the L2 block `safe` the safe head. */
export interface SafeHeadEntry {
  l1: BlockId
  safe: BlockId
}

interface KeyRange {
  gte?: Uint8Array
  lt?: Uint8Array
  lte?: Uint8Array
  reverse?: true
  limit?: number
}

/** op-node's table of safe heads by L1 number: key 00 ‖ u64, value L1 hash ‖ L2 hash ‖ L2 number u64. */
const TABLE = 0
const KEY_BYTES = 9
const VALUE_BYTES = 72
const HIGHEST_KEY = Uint8Array.of(TABLE, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)

/**
 * Records which L2 block was safe after which L1 block (op-node's `safedb.path`), for output proofs.
 * New records can be read at once. `flush` writes all of them in one synced batch. A killed process therefore finds
 * complete entries, and derives again from the last of them.
 */
export class SafeHeadDb implements SafeHeadHistory {
  private readonly level: ClassicLevel<Uint8Array, Uint8Array>
  private readonly path: string
  /** Ascending by L1 number, above all written entries. */
  private pending: SafeHeadEntry[] = []
  private isClosed = false

  private constructor(level: ClassicLevel<Uint8Array, Uint8Array>, path: string) {
    this.level = level
    this.path = path
  }

  /** Throws UsageError if the directory cannot be used, or if the last entry is damaged. */
  static async open(path: string): Promise<SafeHeadDb> {
    makeDirectory(path)
    const level = new ClassicLevel<Uint8Array, Uint8Array>(path, { keyEncoding: 'view', valueEncoding: 'view' })
    const database = new SafeHeadDb(level, path)
    try {
      await level.open()
      await database.tip()
      return database
    } catch (error) {
      await level.close()
      const isLocked = error instanceof Error && isErrno(error.cause, 'LEVEL_LOCKED')
      if (isLocked) throw new UsageError(`safe-head database ${path} is in use by another process`, { cause: error })
      const { message } = error instanceof SafeHeadDbError ? error : database.damage(error)
      throw new UsageError(message, { cause: error })
    }
  }

  /** The last record of an L1 block replaces earlier ones. */
  record(l1: BlockId, safe: BlockId): void {
    const entry = { l1: idOf(l1), safe: idOf(safe) }
    if (this.pending.at(-1)?.l1.number === l1.number) this.pending.pop()
    this.pending.push(entry)
  }

  async flush(): Promise<void> {
    if (this.pending.length === 0) return
    // Entries recorded during the write are not part of it.
    const entries = [...this.pending]
    await this.write(entries.map((entry) => ({ type: 'put', key: keyOf(entry.l1.number), value: encodeEntry(entry) })))
    this.pending = this.pending.filter((entry) => !entries.includes(entry))
  }

  /** The safe head after this L1 block. */
  async at(l1Number: number): Promise<SafeHeadEntry | undefined> {
    await this.opened()
    return this.entryAt(l1Number)
  }

  async tip(): Promise<BlockId | undefined> {
    await this.opened()
    return (await this.entryAt(Number.MAX_SAFE_INTEGER))?.safe
  }

  async firstReaching(l2Number: number): Promise<BlockId | undefined> {
    try {
      return (await this.madeSafeBy(l2Number)).safe
    } catch (error) {
      const code = error instanceof SafeHeadDbError ? error.code : undefined
      if (code === 'safe-db-not-found' || code === 'safe-db-unavailable') return undefined
      throw error
    }
  }

  /** The first entry at or above this L2 block: its L1 block made the L2 block safe. */
  async madeSafeBy(l2Number: number): Promise<SafeHeadEntry> {
    await this.opened()
    const last = await this.entryAt(Number.MAX_SAFE_INTEGER)
    if (last === undefined || last.safe.number < l2Number) {
      throw new SafeHeadDbError('safe-db-not-found', 'l1 at safe head not found')
    }
    const first = (await this.written({ lte: HIGHEST_KEY })) ?? this.pending[0] ?? last
    // The first recorded head may have become safe before the history began, unless it is exactly this block.
    if (first.safe.number === l2Number) return first
    if (first.safe.number > l2Number) {
      throw new SafeHeadDbError('safe-db-unavailable', 'l1 at safe head history unavailable')
    }
    // Safe heads ascend with the L1 blocks, so a search in halves finds the first.
    let found = last
    for (let low = first.l1.number; found.l1.number - low > 1; ) {
      const middle = Math.floor((low + found.l1.number) / 2)
      const entry = await this.entryAt(middle)
      if (entry !== undefined && entry.safe.number >= l2Number) found = entry
      else low = middle
    }
    return found
  }

  /**
   * Removes the entries from the first that reached `safe`. If an earlier entry remains, `safe` itself replaces the
   * first removed entry, because that L1 block made it safe.
   */
  async truncate(safe: L2BlockRef): Promise<void> {
    await this.flush()
    // A block cannot have become safe before its own L1 origin.
    await this.opened()
    for await (const [key, entry] of this.entries({ gte: keyOf(safe.l1Origin.number), lte: HIGHEST_KEY })) {
      if (entry.safe.number < safe.number) continue
      const below = await this.written({ lt: key, reverse: true })
      await this.deleteFrom(key, below === undefined ? undefined : { l1: entry.l1, safe: idOf(safe) })
      return
    }
  }

  async clear(): Promise<void> {
    this.pending = []
    await this.deleteFrom(keyOf(0), undefined)
  }

  async close(): Promise<void> {
    if (this.isClosed) return
    this.isClosed = true
    await this.level.close()
  }

  private async deleteFrom(from: Uint8Array, replacement: SafeHeadEntry | undefined): Promise<void> {
    const keys: Uint8Array[] = []
    await this.opened()
    for await (const [key] of this.entries({ gte: from, lte: HIGHEST_KEY })) keys.push(key)
    const put = replacement && {
      type: 'put' as const,
      key: keyOf(replacement.l1.number),
      value: encodeEntry(replacement),
    }
    await this.write([...keys.map((key) => ({ type: 'del' as const, key })), ...(put === undefined ? [] : [put])])
  }

  private async write(
    operations: ({ type: 'put'; key: Uint8Array; value: Uint8Array } | { type: 'del'; key: Uint8Array })[],
  ): Promise<void> {
    const level = await this.opened()
    try {
      await level.batch(operations, { sync: true })
    } catch (cause) {
      // LevelDB's log may end in a partial record. The next start would not find later ones, unless it is opened again.
      await level.close()
      throw this.failedWrite(cause)
    }
  }

  private async entryAt(l1Number: number): Promise<SafeHeadEntry | undefined> {
    const pending = this.pending.findLast(({ l1 }) => l1.number <= l1Number)
    return pending ?? (await this.written({ lte: keyOf(l1Number), reverse: true }))
  }

  /** The first written entry of the range. */
  private async written(range: KeyRange): Promise<SafeHeadEntry | undefined> {
    for await (const [, entry] of this.entries({ gte: keyOf(0), ...range, limit: 1 })) return entry
    return undefined
  }

  private async *entries(range: KeyRange): AsyncGenerator<[Uint8Array, SafeHeadEntry]> {
    try {
      for await (const [key, value] of this.level.iterator(range)) yield [key, entryOf(key, value)]
    } catch (error) {
      // Other errors come from a close during the read.
      const isUnreadable = isErrno(error, 'LEVEL_CORRUPTION') || isErrno(error, 'LEVEL_IO_ERROR')
      throw isUnreadable || error instanceof DecodeError ? this.damage(error) : error
    }
  }

  /** Opens the database again after a failed write. */
  private async opened(): Promise<ClassicLevel<Uint8Array, Uint8Array>> {
    if (this.isClosed) throw new SafeHeadDbError('safe-db-closed', 'safe db closed')
    try {
      await this.level.open()
    } catch (cause) {
      throw this.failedWrite(cause)
    }
    return this.level
  }

  private failedWrite(cause: unknown): SafeHeadDbError {
    const text = `writing the safe-head database ${this.path} failed`
    return new SafeHeadDbError('safe-db-write', text, { cause, severity: 'reset' })
  }

  private damage(cause: unknown): SafeHeadDbError {
    const remedy = 'stop the node and delete it; the next start fills it again from the finalized block on'
    const text = `cannot read safe-head database ${this.path}: ${describeError(cause)}. If it is damaged, ${remedy}`
    return new SafeHeadDbError('safe-db-damaged', text, { cause })
  }
}

function idOf({ hash, number }: BlockId): BlockId {
  return { hash, number }
}

function keyOf(l1Number: number): Uint8Array {
  const key = new Uint8Array(KEY_BYTES)
  key[0] = TABLE
  viewOf(key).setBigUint64(1, BigInt(l1Number))
  return key
}

function encodeEntry({ l1, safe }: SafeHeadEntry): Uint8Array {
  const value = new Uint8Array(VALUE_BYTES)
  value.set(fromHex(l1.hash, 32))
  value.set(fromHex(safe.hash, 32), 32)
  viewOf(value).setBigUint64(64, BigInt(safe.number))
  return value
}

function entryOf(key: Uint8Array, value: Uint8Array): SafeHeadEntry {
  if (key.length !== KEY_BYTES || value.length !== VALUE_BYTES) {
    throw new DecodeError(`an entry has ${key.length} + ${value.length} bytes instead of ${KEY_BYTES} + ${VALUE_BYTES}`)
  }
  return {
    l1: { hash: toHex(value.subarray(0, 32)), number: Number(viewOf(key).getBigUint64(1)) },
    safe: { hash: toHex(value.subarray(32, 64)), number: Number(viewOf(value).getBigUint64(64)) },
  }
}
