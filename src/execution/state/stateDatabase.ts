import { EMPTY_BYTES } from '../../lib/bytes.ts'
import { DeviumError } from '../../lib/errors.ts'
import { keccak256 } from '../../lib/hash.ts'
import { fromHex, type Hex, toHex } from '../../lib/hex.ts'
import { readRlpHeader } from '../../lib/rlp.ts'
import { type AccountRecord, decodeAccount } from './account.ts'
import { EMPTY_TRIE_ROOT, type NodeReader, openTrie, Trie } from './trie.ts'

/** Where encoded trie nodes and code come from. Synchronous, because the state is read in the middle of opcodes. */
export interface StateStore {
  node(hash: Uint8Array): Uint8Array | undefined
  code(hash: Uint8Array): Uint8Array | undefined
}

/** The part that a WorldState uses. */
export interface StateSource {
  openTrie(root: Uint8Array): Trie
  readAccount(trie: Trie, address: Hex): AccountRecord | undefined
  /** Without leading zeros; empty = zero. */
  readSlot(storageRoot: Uint8Array, slot: Hex): Uint8Array
  code(hash: Hex): Uint8Array
  /** keccak256 of the bytes of an address or slot. */
  hashKey(key: Hex): Uint8Array
  /** Makes a committed trie known, so that later ones share its nodes in memory. */
  retain(trie: Trie, root: Hex, newNodes: number): void
}

/** A trie node or code that must be there is not: the database is damaged, or a witness is incomplete. */
export class MissingNodeError extends DeviumError<'missingNode'> {
  override readonly name = 'MissingNodeError'
  constructor(what: string, hash: Hex) {
    super('missingNode', `${what} ${hash} is not in the database`, { details: { hash }, severity: 'critical' })
  }
}

export interface StateDatabaseOptions {
  /** Trie nodes kept decoded; past it, they are dropped and read again. Default 400,000 (some 200 MB). */
  maxNodes?: number
  /** Bytes of code kept in memory. Default 32 MiB. */
  maxCodeBytes?: number
}

const MAX_RETAINED_ROOTS = 4096
const MAX_HASHED_KEYS = 100_000

/** Opens tries over a store, and keeps decoded nodes, code and key hashes in memory within limits. */
export class StateDatabase implements StateSource, NodeReader {
  private readonly store: StateStore
  private readonly maxNodes: number
  private readonly maxCodeBytes: number
  /** Roots of recently used tries; their nodes share structure with each other. */
  private readonly roots = new Map<Hex, Trie>()
  private readonly codes = new Map<Hex, Uint8Array>()
  private readonly hashedKeys = new Map<Hex, Uint8Array>()
  private loadedNodes = 0
  private codeBytes = 0

  constructor(modules: { store: StateStore }, options: StateDatabaseOptions = {}) {
    this.store = modules.store
    this.maxNodes = options.maxNodes ?? 400_000
    this.maxCodeBytes = options.maxCodeBytes ?? 32 * 1024 * 1024
  }

  node(hash: Uint8Array): Uint8Array {
    const encoding = this.store.node(hash)
    if (encoding === undefined) throw new MissingNodeError('trie node', toHex(hash))
    this.countNodes(1)
    return encoding
  }

  hasRoot(root: Hex): boolean {
    return root === EMPTY_TRIE_ROOT || this.store.node(fromHex(root)) !== undefined
  }

  openTrie(root: Uint8Array): Trie {
    return new Trie(this, this.sharedTrie(root).rootNode())
  }

  /** Makes a committed trie known, so that later ones share its nodes in memory. */
  retain(trie: Trie, root: Hex, newNodes: number): void {
    this.countNodes(newNodes)
    this.keepRoot(root, new Trie(this, trie.rootNode()))
  }

  /** For reading only. */
  private sharedTrie(root: Uint8Array): Trie {
    const key = toHex(root)
    const known = this.roots.get(key)
    if (known !== undefined) return known
    const trie = openTrie(this, root)
    this.keepRoot(key, trie)
    return trie
  }

  private keepRoot(root: Hex, trie: Trie): void {
    this.roots.delete(root)
    this.roots.set(root, trie)
    if (this.roots.size <= MAX_RETAINED_ROOTS) return
    for (const oldest of this.roots.keys()) {
      this.roots.delete(oldest)
      break
    }
  }

  private countNodes(count: number): void {
    this.loadedNodes += count
    if (this.loadedNodes <= this.maxNodes) return
    this.loadedNodes = 0
    this.roots.clear()
  }

  readAccount(trie: Trie, address: Hex): AccountRecord | undefined {
    const encoding = trie.get(this.hashKey(address))
    return encoding === undefined ? undefined : decodeAccount(encoding)
  }

  readSlot(storageRoot: Uint8Array, slot: Hex): Uint8Array {
    const encoding = this.sharedTrie(storageRoot).get(this.hashKey(slot))
    if (encoding === undefined) return EMPTY_BYTES
    const item = readRlpHeader(encoding, 0)
    return encoding.subarray(item.start, item.end)
  }

  code(hash: Hex): Uint8Array {
    const known = this.codes.get(hash)
    if (known !== undefined) return known
    const code = this.store.code(fromHex(hash))
    if (code === undefined) throw new MissingNodeError('code', hash)
    this.codeBytes += code.length
    if (this.codeBytes > this.maxCodeBytes) {
      this.codes.clear()
      this.codeBytes = code.length
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
