import { EMPTY_BYTES } from '../../lib/bytes.ts'
import { DeviumError } from '../../lib/errors.ts'
import { keccak256 } from '../../lib/hash.ts'
import { fromHex, type Hex, toHex } from '../../lib/hex.ts'
import { LruMap } from '../../lib/lruMap.ts'
import { readRlpHeader } from '../../lib/rlp.ts'
import { type AccountRecord, decodeAccount } from './account.ts'
import type { FlatView } from './flatState.ts'
import { toNodeKey } from './nodeHistory.ts'
import { EMPTY_TRIE_ROOT, type NodeReader, openTrie, Trie } from './trie.ts'
import type { TrieNode } from './trieNode.ts'

/** Where encoded trie nodes and code come from. Synchronous, because the state is read in the middle of opcodes. */
export interface StateStore {
  /** By its hash; `owner` is the hash of the account's address for nodes of its storage. */
  node(hash: Uint8Array, owner?: Uint8Array): Uint8Array | undefined
  code(hash: Uint8Array): Uint8Array | undefined
}

/**
 * The key that a node is stored under: its hash, in storage tries XORed with the hash of the account's address. So no two
 * accounts share a node, and one that left a trie can be deleted. (Within one trie no two do: their paths differ.)
 */
export function nodeKey(hash: Uint8Array, owner?: Uint8Array): Uint8Array {
  if (owner === undefined) return hash
  const key = new Uint8Array(32)
  for (let index = 0; index < 32; index++) key[index] = (hash[index] ?? 0) ^ (owner[index] ?? 0)
  return key
}

/** The part that a WorldState uses. */
export interface StateSource {
  /** Without `owner` the trie of the accounts, else the storage of the account with this address. */
  openTrie(root: Uint8Array, owner?: Hex): Trie
  /** From `flat`, the leaves of the same state, where they reach. */
  readAccount(trie: Trie, address: Hex, flat?: FlatView): AccountRecord | undefined
  /** Without leading zeros; empty = zero. `flat` as above. */
  readSlot(address: Hex, storageRoot: Uint8Array, slot: Hex, flat?: FlatView): Uint8Array
  code(hash: Hex): Uint8Array
  /** keccak256 of the bytes of an address or slot. */
  hashKey(key: Hex): Uint8Array
  /** Makes a committed trie known, so that later ones share its nodes in memory; so long are its new nodes, encoded. */
  retain(trie: Trie, root: Hex, newEncodingBytes: number): void
}

/** A trie node or code that must be there is not: the database is damaged, or a witness is incomplete. */
export class MissingNodeError extends DeviumError<'missing-node'> {
  override readonly name = 'MissingNodeError'
  constructor(what: string, hash: Hex) {
    super('missing-node', `${what} ${hash} is not in the database`, { details: { hash }, severity: 'critical' })
  }
}

/** What the caches hold, as they count it, and what was not in them. */
export interface StateStatistics {
  nodeBytes: number
  codeBytes: number
  /** Trie nodes that were read of the store, and their encodings' bytes. */
  nodeReads: number
  readBytes: number
}

export interface StateDatabaseOptions {
  /** Memory for decoded trie nodes; past it, they are dropped and read again. Default 160 MiB. */
  maxNodeBytes?: number
  /** Memory for code and what is known of it. Default 64 MiB. */
  maxCodeBytes?: number
}

const MEBIBYTE = 1024 * 1024
/** Memory that a decoded node takes for a byte of its encoding, measured: leaves 9.4, branches, which keep it, less. */
const NODE_MEMORY = 10
/** The same of code, whose jump destinations and pushed words are kept beside it (`programOf`): 12 to 14. */
const CODE_MEMORY = 14
/** Those of a hundred blocks or two: each holds what is no part of later ones, too. */
const MAX_RETAINED_ROOTS = 1024
const MAX_HASHED_KEYS = 100_000

/** Opens tries over a store, and keeps decoded nodes, code and key hashes in memory within limits. */
export class StateDatabase implements StateSource {
  private readonly store: StateStore
  private readonly maxNodeBytes: number
  private readonly maxCodeBytes: number
  /** Roots of recently used tries; their nodes share structure with each other. */
  private readonly roots = new LruMap<Hex, TrieNode | null>(MAX_RETAINED_ROOTS)
  private readonly codes = new Map<Hex, Uint8Array>()
  private readonly hashedKeys = new Map<Hex, Uint8Array>()
  private nodeBytes = 0
  private codeBytes = 0
  private nodeReads = 0
  private readBytes = 0

  constructor(modules: { store: StateStore }, options: StateDatabaseOptions = {}) {
    this.store = modules.store
    this.maxNodeBytes = options.maxNodeBytes ?? 160 * MEBIBYTE
    this.maxCodeBytes = options.maxCodeBytes ?? 64 * MEBIBYTE
  }

  statistics(): StateStatistics {
    const { nodeBytes, codeBytes, nodeReads, readBytes } = this
    return { nodeBytes, codeBytes, nodeReads, readBytes }
  }

  hasRoot(root: Hex): boolean {
    return root === EMPTY_TRIE_ROOT || this.store.node(fromHex(root)) !== undefined
  }

  openTrie(root: Uint8Array, owner?: Hex): Trie {
    const reader = this.readerOf(owner)
    const key = toHex(root)
    const known = this.roots.get(key)
    if (known !== undefined) return new Trie(reader, known)
    const trie = openTrie(reader, root)
    // Loaded now, so that all who open it share what is loaded below.
    trie.readRoot()
    this.roots.set(key, trie.rootNode())
    return trie
  }

  /** Makes a committed trie known, so that later ones share its nodes in memory. */
  retain(trie: Trie, root: Hex, newEncodingBytes: number): void {
    this.countNodes(newEncodingBytes)
    this.roots.set(root, trie.rootNode())
  }

  private readerOf(owner: Hex | undefined): NodeReader {
    const ownerHash = owner === undefined ? undefined : this.hashKey(owner)
    return {
      node: (hash) => {
        const encoding = this.store.node(hash, ownerHash)
        if (encoding === undefined) throw new MissingNodeError('trie node', toHex(hash))
        this.nodeReads += 1
        this.readBytes += encoding.length
        this.countNodes(encoding.length)
        return encoding
      },
    }
  }

  private countNodes(encodingBytes: number): void {
    this.nodeBytes += encodingBytes * NODE_MEMORY
    if (this.nodeBytes <= this.maxNodeBytes) return
    this.nodeBytes = 0
    this.roots.clear()
  }

  readAccount(trie: Trie, address: Hex, flat?: FlatView): AccountRecord | undefined {
    const key = this.hashKey(address)
    const leaf = flat?.leaf(toNodeKey(key))
    const encoding = leaf === undefined ? trie.get(key) : leaf
    return encoding === undefined || encoding === null ? undefined : decodeAccount(encoding)
  }

  readSlot(address: Hex, storageRoot: Uint8Array, slot: Hex, flat?: FlatView): Uint8Array {
    const key = this.hashKey(slot)
    const leaf = flat?.leaf(toNodeKey(this.hashKey(address)) + toNodeKey(key))
    const encoding = leaf === undefined ? this.openTrie(storageRoot, address).get(key) : leaf
    if (encoding === undefined || encoding === null) return EMPTY_BYTES
    const item = readRlpHeader(encoding, 0)
    // A view would make V8 move the encoding out of its heap.
    return encoding.slice(item.start, item.end)
  }

  code(hash: Hex): Uint8Array {
    const known = this.codes.get(hash)
    if (known !== undefined) return known
    const code = this.store.code(fromHex(hash))
    if (code === undefined) throw new MissingNodeError('code', hash)
    this.codeBytes += code.length * CODE_MEMORY
    if (this.codeBytes > this.maxCodeBytes) {
      this.codes.clear()
      this.codeBytes = code.length * CODE_MEMORY
    }
    this.codes.set(hash, code)
    return code
  }

  hashKey(key: Hex): Uint8Array {
    let hash = this.hashedKeys.get(key)
    if (hash === undefined) {
      hash = keccak256(fromHex(key))
      if (this.hashedKeys.size >= MAX_HASHED_KEYS) this.hashedKeys.clear()
      this.hashedKeys.set(key, hash)
    }
    return hash
  }
}
