import { EMPTY_BYTES, equalBytes } from '../../lib/bytes.ts'
import { DeviumError } from '../../lib/errors.ts'
import { keccak256 } from '../../lib/hash.ts'
import { fromHex, type Hex, toHex } from '../../lib/hex.ts'
import { LruMap } from '../../lib/lruMap.ts'
import { readRlpHeader } from '../../lib/rlp.ts'
import { ChainError } from '../errors.ts'
import { type AccountRecord, decodeAccount } from './account.ts'
import { accountKey, nodePrefix, ROOT_KEY, type StateKey, slotKey } from './stateKeys.ts'
import { type NodeReader, openTrie, Trie } from './trie.ts'
import type { TrieNode } from './trieNode.ts'

/** One state. Reads are synchronous, because opcodes read in the middle of execution. */
export interface StateView {
  /** An encoded trie node by its path. Archive states are read by hash instead. */
  node(key: StateKey, hash: Uint8Array): Uint8Array | undefined
  /** An account or slot without walking the trie. null: it does not exist. undefined: read it from the trie. */
  leaf(key: StateKey): Uint8Array | null | undefined
  isPruned(): boolean
}

export interface StateStore {
  /** The state after a block. Undefined if it was pruned, as far as that is known. */
  stateAt(blockHash: Hex): StateView | undefined
  code(hash: Uint8Array): Uint8Array | undefined
}

/** The empty state, in a store without code. */
export const NO_STATE = {
  node: () => undefined,
  leaf: () => undefined,
  isPruned: () => false,
  code: () => undefined,
} satisfies StateView & Pick<StateStore, 'code'>

/** The part of a StateDatabase that WorldState uses. */
export interface StateSource {
  /** Opens the account trie, or with `owner` the storage trie of that address. */
  openTrie(root: Uint8Array, owner?: Hex): Trie
  readAccount(trie: Trie, address: Hex): AccountRecord | undefined
  /** Without leading zeros; empty = zero. `isStored`: the storage is that of the stored state. */
  readSlot(address: Hex, storageRoot: Uint8Array, slot: Hex, isStored: boolean): Uint8Array
  code(hash: Hex): Uint8Array
  /** keccak256 of the bytes of an address or slot. */
  hashKey(key: Hex): Uint8Array
  /**
   * Caches a committed trie, so that later tries share its nodes. `newEncodingBytes`: encoded size of its new nodes.
   */
  retain(trie: Trie, root: Hex, newEncodingBytes: number, owner?: Hex): void
}

/** A required trie node or code is missing: the database is damaged, or a witness is incomplete. */
export class MissingNodeError extends DeviumError<'missing-node'> {
  override readonly name = 'MissingNodeError'
  constructor(what: string, hash: Hex) {
    super('missing-node', `${what} ${hash} is not in the database`, { details: { hash }, severity: 'critical' })
  }
}

/** Estimated memory of the caches, and reads that missed them. */
export interface StateStatistics {
  nodeBytes: number
  codeBytes: number
  /** Trie nodes read from the store, and the bytes of their encodings. */
  nodeReads: number
  readBytes: number
}

export interface StateDatabaseOptions {
  /** Memory for decoded trie nodes. Above it, all are dropped. Default 160 MiB. */
  maxNodeBytes?: number
  /** Memory for code and its analysis. Default 64 MiB. */
  maxCodeBytes?: number
}

const MEBIBYTE = 1024 * 1024
/**
 * Memory of a decoded node for each byte of its encoding. Measured: 9.4 for leaves, less for branches, which keep the
 * encoding.
 */
const NODE_MEMORY = 10
/** Memory of analysed code (`programOf`: jump destinations and pushed words) for each byte of the code. Measured: 12 to 14. */
const CODE_MEMORY = 14
/** The tries of one or two hundred blocks. Each also holds nodes that later tries do not share. */
const MAX_RETAINED_ROOTS = 1024
const MAX_HASHED_KEYS = 100_000

/** Caches decoded nodes, code and key hashes of all states, within memory limits. */
export class StateDatabase {
  private readonly store: Pick<StateStore, 'code'>
  private readonly maxNodeBytes: number
  private readonly maxCodeBytes: number
  /** Roots of recently used tries, by owner and hash. Their nodes share structure. */
  private readonly roots = new LruMap<string, TrieNode | null>(MAX_RETAINED_ROOTS)
  private readonly codes = new Map<Hex, Uint8Array>()
  private readonly hashedKeys = new Map<Hex, Uint8Array>()
  private nodeBytes = 0
  private codeBytes = 0
  private nodeReads = 0
  private readBytes = 0

  constructor(modules: { store: Pick<StateStore, 'code'> }, options: StateDatabaseOptions = {}) {
    this.store = modules.store
    this.maxNodeBytes = options.maxNodeBytes ?? 160 * MEBIBYTE
    this.maxCodeBytes = options.maxCodeBytes ?? 64 * MEBIBYTE
  }

  statistics(): StateStatistics {
    const { nodeBytes, codeBytes, nodeReads, readBytes } = this
    return { nodeBytes, codeBytes, nodeReads, readBytes }
  }

  /** @param isFlat false: reads accounts and slots from the tries */
  at(view: StateView, isFlat = true): StateSource {
    const place: Place = { view, isChanged: false }
    return {
      openTrie: (root, owner) => this.openTrie(place, root, owner),
      readAccount: (trie, address) => {
        const key = this.hashKey(address)
        const leaf = isFlat ? view.leaf(accountKey(key)) : undefined
        const encoding = leaf === undefined ? trie.get(key) : leaf
        return encoding === undefined || encoding === null ? undefined : decodeAccount(encoding)
      },
      readSlot: (address, storageRoot, slot, isStored) => {
        const key = this.hashKey(slot)
        const leaf = isFlat && isStored ? view.leaf(slotKey(this.hashKey(address), key)) : undefined
        const encoding = leaf === undefined ? this.openTrie(place, storageRoot, address).get(key) : leaf
        if (encoding === undefined || encoding === null) return EMPTY_BYTES
        const item = readRlpHeader(encoding, 0)
        // A copy: V8 would move the encoding out of its heap for a subarray.
        return encoding.slice(item.start, item.end)
      },
      code: (hash) => this.code(hash),
      hashKey: (key) => this.hashKey(key),
      retain: (trie, root, newEncodingBytes, owner) => {
        place.isChanged = true
        this.countNodes(newEncodingBytes)
        this.roots.set(rootKey(root, owner), trie.rootNode())
      },
    }
  }

  private openTrie(place: Place, root: Uint8Array, owner?: Hex): Trie {
    const reader = this.readerOf(place, owner)
    const key = rootKey(toHex(root), owner)
    const known = this.roots.get(key)
    if (known !== undefined) return new Trie(reader, known)
    const trie = openTrie(reader, root)
    // Loaded now, so that all users of the root share the nodes loaded below.
    trie.readRoot()
    this.roots.set(key, trie.rootNode())
    return trie
  }

  private readerOf(place: Place, owner: Hex | undefined): NodeReader {
    const prefix = owner === undefined ? ROOT_KEY : nodePrefix(this.hashKey(owner))
    return {
      node: (path, hash) => {
        const encoding = place.view.node(prefix + path, hash)
        // The path alone does not identify a node: another state may have another node there. Below a correct root it
        // is this one.
        const isChecked = path === '' || place.isChanged
        if (encoding === undefined || (isChecked && !equalBytes(keccak256(encoding), hash))) {
          throw missing(place.view, hash)
        }
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

  /** The hashed addresses and slots: up to 100,000, the last ones. */
  hashed(): Hex[] {
    return [...this.hashedKeys.keys()]
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

/** The state that a trie is read from. */
interface Place {
  readonly view: StateView
  /** Committed tries may have roots of other states, and nodes that the view does not have. */
  isChanged: boolean
}

function rootKey(root: Hex, owner: Hex | undefined): string {
  return owner === undefined ? root : owner + root
}

function missing(view: StateView, hash: Uint8Array): DeviumError {
  if (view.isPruned()) return new ChainError('state-gone', 'the state was pruned')
  return new MissingNodeError('trie node', toHex(hash))
}
