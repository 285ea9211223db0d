import type { Hex } from '../../lib/hex.ts'
import type { StateKey } from './stateKeys.ts'

export interface BlockId {
  number: number
  hash: Hex
}

/** A value, and the number of the block that set it. null: that block deleted it. */
export interface Version {
  readonly value: Uint8Array | null
  readonly number: number
}

/** The base state on the disk, and what it was before. */
export interface DiskLayer {
  version(key: StateKey): Version | undefined
  /** What the block with this number replaced. Throws where that is not kept. */
  replaced(number: number, key: StateKey): Version
  /** Values that blocks before `oldest` deleted need no mark. */
  begin(oldest: number): Promise<DiskWriting>
  /** Gives back what the base's block replaced: the base is its parent's state then. Atomic. Gives the parent's hash. */
  undo(block: BlockId): Promise<Hex>
}

/** Changes of the base state that belong together. */
export interface DiskWriting {
  put(key: StateKey, version: Version): void
  /** What the block replaced, so that the state before it can be read and restored. */
  keep(number: number, key: StateKey, replaced: Version): void
  /** All of it is kept. `parentHash`: whose state was before. `deleted`: what the block deleted. */
  keepBlock(number: number, parentHash: Hex, deleted: readonly StateKey[]): void
  /** Atomic, and on the disk when this resolves. */
  commit(base: BlockId): Promise<void>
}
