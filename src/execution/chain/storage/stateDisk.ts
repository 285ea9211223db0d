import { bytesToText, concatBytes, viewOf } from '../../../lib/bytes.ts'
import { fromHex, type Hex, toHex } from '../../../lib/hex.ts'
import { yieldToLoop } from '../../../lib/yieldToLoop.ts'
import { ChainError } from '../../errors.ts'
import type { BlockId, DiskLayer, DiskWriting, Version } from '../../state/diskLayer.ts'
import { bytesOfKey, type StateKey } from '../../state/stateKeys.ts'
import type { ChainDatabase, KeyRange, LargeBatch } from './chainDatabase.ts'
import { BASE_KEY, keyOf, TABLE, tableRange, textKey } from './databaseBatch.ts'

/** Bytes of the block number before a value. */
const NUMBER_BYTES = 4

/**
 * The base state in the database:
 *
 * - StateKey → u32 number of the block that set the value ‖ value. No value: that block deleted it, and the history is
 * kept.
 * - `u` ‖ u32 number ‖ StateKey → the same entry before that block.
 * - `U` ‖ u32 number → hash of the block's parent ‖ deleted keys, each after its length. Marks the block's history as
 * complete.
 */
export class StateDisk implements DiskLayer {
  private readonly database: ChainDatabase
  /** Numbers of the first and last block with history in `u`. The last one is the base's block. */
  private kept: { from: number; to: number } | undefined

  constructor(database: ChainDatabase) {
    this.database = database
  }

  /** Resolves with the blocks below the base whose states can be read. */
  async open(): Promise<BlockId[]> {
    const history: BlockId[] = []
    for await (const [key, value] of this.database.entries(rangeOf(TABLE.replacedBlock))) {
      const number = viewOf(key).getUint32(1)
      this.kept = { from: this.kept?.from ?? number, to: number }
      history.push({ number: number - 1, hash: toHex(value.subarray(0, 32)) })
    }
    await this.clearUnused()
    return history
  }

  version(key: StateKey): Version | undefined {
    const stored = this.database.valueAt(bytesOfKey(key))
    return stored === undefined ? undefined : decodeVersion(stored)
  }

  replaced(number: number, key: StateKey): Version {
    const stored = this.database.valueAt(replacedKey(number, bytesOfKey(key)))
    if (stored === undefined) throw new ChainError('state-gone', `the history of block ${number} was pruned`)
    return decodeVersion(stored)
  }

  async begin(oldest: number): Promise<DiskWriting> {
    await this.clearUnused()
    const batch = this.database.largeBatch()
    let { from, to } = this.kept ?? NOTHING
    // Deleted first, because a key may be put again below.
    for (; from <= to && from <= oldest; from++) await this.dropHistory(batch, from)
    return {
      put(key, version) {
        if (version.value === null && version.number <= oldest) batch.del(bytesOfKey(key))
        else batch.put(bytesOfKey(key), encodeVersion(version))
      },
      keep: (number, key, before) => batch.put(replacedKey(number, bytesOfKey(key)), encodeVersion(before)),
      keepBlock(number, parentHash, deleted) {
        if (from > to) from = number
        to = number
        const keys = deleted.flatMap((key) => [Uint8Array.of(key.length), bytesOfKey(key)])
        batch.put(replacedKey(number), concatBytes(fromHex(parentHash, 32), ...keys))
      },
      commit: async (base) => {
        setBase(batch, base.hash)
        await this.database.writeLarge(batch)
        this.kept = from <= to ? { from, to } : undefined
      },
    }
  }

  async undo({ number }: BlockId): Promise<Hex> {
    const block = this.database.valueAt(replacedKey(number))
    if (block === undefined) throw new Error(`the database has no history of block ${number}`)
    const { from } = this.kept ?? NOTHING
    const batch = this.database.largeBatch()
    for await (const [place, stored] of this.database.entries(rangeOf(TABLE.replaced, number))) {
      const key = place.subarray(1 + NUMBER_BYTES)
      const { value, number: before } = decodeVersion(stored)
      // A deletion mark stays as long as the history of the block that deleted the value.
      if (value === null && !(before >= from && before < number)) batch.del(key)
      else batch.put(key, stored)
    }
    const parentHash = toHex(block.subarray(0, 32))
    batch.del(replacedKey(number))
    setBase(batch, parentHash)
    await this.database.writeLarge(batch)
    this.kept = from < number ? { from, to: number - 1 } : undefined
    return parentHash
  }

  /** Deletes the history mark of a block, and the deletion marks of its keys. */
  private async dropHistory(batch: LargeBatch, number: number): Promise<void> {
    const deleted = this.database.valueAt(replacedKey(number))?.subarray(32) ?? new Uint8Array(0)
    for (let at = 0; at < deleted.length; ) {
      await yieldToLoop()
      const end = at + 1 + (deleted[at] ?? 0)
      const key = deleted.subarray(at + 1, end)
      const version = this.version(bytesToText(key, 'latin1'))
      if (version?.value === null && version.number === number) batch.del(key)
      at = end
    }
    batch.del(replacedKey(number))
  }

  /** Deletes the history of blocks outside `kept`. It is not read any more. */
  private async clearUnused(): Promise<void> {
    const { gte, lt } = rangeOf(TABLE.replaced)
    if (this.kept === undefined) return this.database.clear({ gte, lt })
    await this.database.clear({ gte, lt: rangeOf(TABLE.replaced, this.kept.from).gte })
    await this.database.clear({ gte: rangeOf(TABLE.replaced, this.kept.to).lt, lt })
  }
}

const NOTHING = { from: Number.POSITIVE_INFINITY, to: -1 }

export function encodeVersion({ value, number }: Version): Uint8Array {
  const stored = Buffer.allocUnsafe(NUMBER_BYTES + (value?.length ?? 0))
  stored.writeUInt32BE(number)
  if (value !== null) stored.set(value, NUMBER_BYTES)
  return stored
}

export function decodeVersion(stored: Uint8Array): Version {
  // Decoded by hand: a DataView for each value takes longer than the rest.
  const high = ((stored[0] ?? 0) << 8) | (stored[1] ?? 0)
  const number = high * 0x10000 + (((stored[2] ?? 0) << 8) | (stored[3] ?? 0))
  return { value: stored.length === NUMBER_BYTES ? null : stored.subarray(NUMBER_BYTES), number }
}

/** A key of `u` with a StateKey, of `U` without. */
function replacedKey(number: number, key?: Uint8Array): Uint8Array {
  const place = keyOf(
    key === undefined ? 'replacedBlock' : 'replaced',
    new Uint8Array(NUMBER_BYTES + (key?.length ?? 0)),
  )
  viewOf(place).setUint32(1, number)
  if (key !== undefined) place.set(key, 1 + NUMBER_BYTES)
  return place
}

/** The StateKey in a key of `u`. */
export function keyOfReplaced(place: Uint8Array): StateKey {
  return bytesToText(place.subarray(1 + NUMBER_BYTES), 'latin1')
}

function rangeOf(table: string, number?: number): KeyRange {
  if (number === undefined) return tableRange(table)
  const bound = (at: number) => {
    const key = new Uint8Array(1 + NUMBER_BYTES)
    key[0] = table.charCodeAt(0)
    viewOf(key).setUint32(1, at)
    return key
  }
  return { gte: bound(number), lt: bound(number + 1) }
}

function setBase(batch: LargeBatch, hash: Hex): void {
  batch.put(keyOf('meta', textKey(BASE_KEY)), fromHex(hash, 32))
}
