import type { Hex } from '../../lib/hex.ts'
import type { StateKey } from './stateKeys.ts'

export interface BlockId {
  number: number
  hash: Hex
}

/** A value, and the number of the block that set it. null: that block deleted the value. */
export interface Version {
  readonly value: Uint8Array | null
  readonly number: number
}

/** The base state on the disk, and its history. */
export interface DiskLayer {
  version(key: StateKey): Version | undefined
  /**
   * The value that the block replaced under this key. Throws ChainError `state-gone` if the history does not reach the
   * block.
   */
  replaced(number: number, key: StateKey): Version
  /** Starts a batch of changes. Values that blocks up to `oldest` deleted need no deletion mark. */
  begin(oldest: number): Promise<DiskWriting>
  /**
   * Restores the values that the base's block replaced, so that the base is its parent's state. Atomic. Resolves with
   * the parent's hash.
   */
  undo(block: BlockId): Promise<Hex>
}

/** One atomic batch of changes of the base state. */
export interface DiskWriting {
  put(key: StateKey, version: Version): void
  /** Keeps a value that the block replaced, so that the state before the block can be read and restored. */
  keep(number: number, key: StateKey, replaced: Version): void
  /**
   * Marks all replaced values of a block as kept.
   *
   * @param parentHash the block whose state was before
   * @param deleted keys that the block deleted
   */
  keepBlock(number: number, parentHash: Hex, deleted: readonly StateKey[]): void
  /** Atomic. Resolves when the batch is on the disk. */
  commit(base: BlockId): Promise<void>
}
