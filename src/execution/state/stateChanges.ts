import type { Hex } from '../../lib/hex.ts'

/** The bytes of a StateLeaf's key, one character each. */
export type LeafKey = string

/** Leaves by their keys; null: there is none any more. */
export type Leaves = ReadonlyMap<LeafKey, Uint8Array | null>

/** What a commit adds to the database. */
export interface StateChanges {
  root: Hex
  /** By `nodeKey`. */
  nodes: { key: Uint8Array; encoding: Uint8Array }[]
  /** Keys of nodes that were part of the state before, and are so no longer. */
  replaced: Uint8Array[]
  codes: { hash: Uint8Array; code: Uint8Array }[]
  /** Accounts and slots as the tries hold them now; null: no more. */
  leaves: Map<LeafKey, Uint8Array | null>
}
