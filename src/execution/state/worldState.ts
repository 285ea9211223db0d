import { bytesToText, concatBytes, EMPTY_BYTES, equalBytes } from '../../lib/bytes.ts'
import { keccak256 } from '../../lib/hash.ts'
import { fromHex, type Hex, toHex } from '../../lib/hex.ts'
import { encodeRlp } from '../../lib/rlp.ts'
import { EMPTY_TRIE_ROOT } from '../../rollup/protocol/constants.ts'
import { type AccountRecord, EMPTY_CODE_HASH, EMPTY_STORAGE_ROOT, encodeAccount, isEmptyAccount } from './account.ts'
import type { StateSource } from './stateDatabase.ts'
import { accountKey, nodePrefix, type StateChanges, slotKey } from './stateKeys.ts'
import type { Trie } from './trie.ts'
import { fromNibbles } from './trieNode.ts'

interface AccountStorage {
  /** Root of the storage trie that slots missing in `slots` are read from. */
  baseRoot: Uint8Array
  /** Whether these are the slots of the underlying state. */
  isOriginal: boolean
  /** Current values, without leading zeros; empty = zero. */
  slots: Map<Hex, Uint8Array>
  /** Slots to write, with the index of their last journal entry. */
  dirty: Map<Hex, number>
}

type JournalEntry =
  | { kind: 'account'; address: Hex; before: AccountRecord | undefined }
  | { kind: 'slot'; storage: AccountStorage; slot: Hex; before: Uint8Array }
  | { kind: 'storage'; address: Hex; before: AccountStorage | undefined }

/**
 * Accounts, code and storage on top of one state root. Changes are kept flat and journaled, with nested checkpoints.
 * `commit` writes them into the tries. All methods are synchronous: reads that miss the caches go to LevelDB's
 * memory-mapped tables.
 */
export class WorldState {
  /** Whether `commit` lists each node of a deleted storage. A simulation needs only the roots. */
  listsDeleted = true
  private readonly source: StateSource
  private readonly trie: Trie
  private readonly accounts = new Map<Hex, AccountRecord | undefined>()
  /** The accounts as they are in the trie, with their trie keys. */
  private readonly committed = new Map<Hex, { key: Uint8Array; record: AccountRecord | undefined }>()
  private readonly storages = new Map<Hex, AccountStorage>()
  private readonly dirtyAccounts = new Set<Hex>()
  /** Code by the hash object of an account's record. Changed records share that object. */
  private readonly codes = new WeakMap<Uint8Array, Uint8Array>()
  private readonly newCodes = new Map<Hex, Uint8Array>()
  private readonly originals = new Map<Hex, Map<Hex, Uint8Array>>()
  private journal: JournalEntry[] = []
  private checkpoints: number[] = []

  constructor(source: StateSource, root: Hex) {
    this.source = source
    this.trie = source.openTrie(fromHex(root))
  }

  /** Records are never changed in place. */
  account(address: Hex): AccountRecord | undefined {
    const known = this.accounts.get(address)
    if (known !== undefined || this.accounts.has(address)) return known
    const record = this.source.readAccount(this.trie, address)
    this.accounts.set(address, record)
    // Hashing the key here hits the cache of the read before.
    this.committed.set(address, { key: this.source.hashKey(address), record })
    return record
  }

  putAccount(address: Hex, record: AccountRecord | undefined): void {
    this.journal.push({ kind: 'account', address, before: this.account(address) })
    this.accounts.set(address, record)
    this.dirtyAccounts.add(address)
  }

  balance(address: Hex): bigint {
    return this.account(address)?.balance ?? 0n
  }

  nonce(address: Hex): bigint {
    return this.account(address)?.nonce ?? 0n
  }

  /** Creates the account if needed, even for an amount of 0. Callers delete touched empty accounts (EIP-161). */
  addBalance(address: Hex, amount: bigint): void {
    const record = this.account(address) ?? EMPTY_ACCOUNT
    this.putAccount(address, { ...record, balance: record.balance + amount })
  }

  setNonce(address: Hex, nonce: bigint): void {
    this.putAccount(address, { ...(this.account(address) ?? EMPTY_ACCOUNT), nonce })
  }

  code(address: Hex): Uint8Array {
    const record = this.account(address)
    return record === undefined ? EMPTY_BYTES : this.codeByHash(record.codeHash)
  }

  putCode(address: Hex, code: Uint8Array): void {
    const codeHash = code.length === 0 ? EMPTY_CODE_HASH : keccak256(code)
    if (code.length > 0) this.newCodes.set(toHex(codeHash), code)
    this.putAccount(address, { ...(this.account(address) ?? EMPTY_ACCOUNT), codeHash })
  }

  private codeByHash(hash: Uint8Array): Uint8Array {
    if (hash === EMPTY_CODE_HASH) return EMPTY_BYTES
    let code = this.codes.get(hash)
    if (code === undefined) {
      const key = toHex(hash)
      code = equalBytes(hash, EMPTY_CODE_HASH) ? EMPTY_BYTES : (this.newCodes.get(key) ?? this.source.code(key))
      this.codes.set(hash, code)
    }
    return code
  }

  /** Value without leading zeros; empty = zero. `slot` is 32 bytes. */
  storage(address: Hex, slot: Hex): Uint8Array {
    const storage = this.storageOf(address)
    const known = storage.slots.get(slot)
    if (known !== undefined) return known
    const value = this.source.readSlot(address, storage.baseRoot, slot, storage.isOriginal)
    storage.slots.set(slot, value)
    return value
  }

  putStorage(address: Hex, slot: Hex, value: Uint8Array): void {
    const before = this.storage(address, slot)
    let originals = this.originals.get(address)
    if (originals === undefined) {
      originals = new Map()
      this.originals.set(address, originals)
    }
    if (!originals.has(slot)) originals.set(slot, before)
    const storage = this.storageOf(address)
    storage.slots.set(slot, value)
    this.dirtyAccounts.add(address)
    if (this.isNoted(storage, slot)) return
    storage.dirty.set(slot, this.journal.length)
    this.journal.push({ kind: 'slot', storage, slot, before })
  }

  /**
   * Whether reverting to the last checkpoint restores the slot anyway. Without this check, a block that writes one slot
   * repeatedly would keep 280,000 values until its end.
   */
  private isNoted(storage: AccountStorage, slot: Hex): boolean {
    const index = storage.dirty.get(slot) ?? -1
    if (index < (this.checkpoints.at(-1) ?? 0)) return false
    const entry = this.journal[index]
    return entry?.kind === 'slot' && entry.storage === storage && entry.slot === slot
  }

  /** Value at the start of the transaction (EIP-2200). */
  originalStorage(address: Hex, slot: Hex): Uint8Array {
    return this.originals.get(address)?.get(slot) ?? this.storage(address, slot)
  }

  clearStorage(address: Hex): void {
    const before = this.storages.get(address)
    if (
      before === undefined &&
      equalBytes(this.account(address)?.storageRoot ?? EMPTY_STORAGE_ROOT, EMPTY_STORAGE_ROOT)
    )
      return
    this.journal.push({ kind: 'storage', address, before })
    const storage = { baseRoot: EMPTY_STORAGE_ROOT, isOriginal: false, slots: new Map(), dirty: new Map<Hex, number>() }
    this.storages.set(address, storage)
    this.dirtyAccounts.add(address)
  }

  deleteAccount(address: Hex): void {
    this.clearStorage(address)
    this.putAccount(address, undefined)
  }

  checkpoint(): void {
    this.checkpoints.push(this.journal.length)
  }

  commitCheckpoint(): void {
    this.checkpoints.pop()
  }

  revertCheckpoint(): void {
    const length = this.checkpoints.pop() ?? 0
    for (let i = this.journal.length - 1; i >= length; i--) {
      const entry = this.journal[i]
      if (entry === undefined) continue
      if (entry.kind === 'account') this.accounts.set(entry.address, entry.before)
      else if (entry.kind === 'slot') entry.storage.slots.set(entry.slot, entry.before)
      else if (entry.before === undefined) this.storages.delete(entry.address)
      else this.storages.set(entry.address, entry.before)
    }
    this.journal.length = length
  }

  /** Undoes the current transaction, whatever its checkpoints. */
  abandonTransaction(): void {
    this.checkpoints = [0]
    this.revertCheckpoint()
    this.originals.clear()
  }

  /**
   * Ends a transaction: the present values are the original ones of the next transaction. Throws if checkpoints are
   * open.
   */
  endTransaction(): void {
    if (this.checkpoints.length > 0) throw new Error('transaction ended with open checkpoints')
    this.originals.clear()
    this.journal = []
  }

  /** Deletes the empty accounts that the current transaction touched (EIP-161). */
  deleteTouchedEmpty(): void {
    const { length } = this.journal
    for (let index = 0; index < length; index++) {
      const entry = this.journal[index]
      if (entry?.kind !== 'account') continue
      const record = this.account(entry.address)
      if (record !== undefined && isEmptyAccount(record)) this.deleteAccount(entry.address)
    }
  }

  /**
   * Writes all changes into the tries and hashes them. May be called again after further changes. `onAccount` is called
   * after each account.
   */
  commit(onAccount?: (done: number, total: number) => void): StateChanges {
    const changes: StateChanges = { root: EMPTY_TRIE_ROOT, writes: new Map(), codes: [] }
    const total = this.dirtyAccounts.size
    let done = 0
    for (const address of this.dirtyAccounts) {
      this.commitAccount(address, changes)
      onAccount?.(++done, total)
    }
    this.dirtyAccounts.clear()
    this.journal = []
    for (const [hash, code] of this.newCodes) changes.codes.push({ hash: fromHex(hash), code })
    changes.root = this.commitTrie(this.trie, changes)
    return changes
  }

  /** Storage root after `commit`. */
  storageRoot(address: Hex): Hex {
    return toHex(this.account(address)?.storageRoot ?? EMPTY_STORAGE_ROOT)
  }

  private commitTrie(trie: Trie, { writes }: StateChanges, owner?: Hex): Hex {
    const prefix = nodePrefix(owner === undefined ? undefined : this.source.hashKey(owner))
    let added = 0
    const root = trie.commit((path, encoding) => {
      added += encoding?.length ?? 0
      writes.set(prefix + path, encoding)
    })
    this.source.retain(trie, root, added, owner)
    return root
  }

  private commitAccount(address: Hex, changes: StateChanges): void {
    let record = this.account(address)
    const committed = this.committed.get(address)
    if (committed === undefined) throw new Error(`account ${address} was never read`)
    const { key } = committed
    const { writes } = changes
    const before = committed.record?.storageRoot ?? EMPTY_STORAGE_ROOT
    const storage = this.storages.get(address)
    const base = record === undefined ? EMPTY_STORAGE_ROOT : (storage?.baseRoot ?? before)
    if (this.listsDeleted && !equalBytes(base, before)) {
      // The whole storage was deleted.
      const prefix = nodePrefix(key)
      this.source.openTrie(before, address).forEachNode((node, above) => {
        if (node.ref?.length === 32 || above.length === 0) writes.set(prefix + bytesToText(above, 'latin1'), null)
        if (node.kind === 'leaf') writes.set(slotKey(key, fromNibbles(concatBytes(above, node.key))), null)
      })
    }
    if (record === undefined) {
      this.storages.delete(address)
      this.trie.delete(key)
      writes.set(accountKey(key), null)
    } else {
      if (storage !== undefined && (storage.dirty.size > 0 || !equalBytes(storage.baseRoot, record.storageRoot))) {
        const trie = this.source.openTrie(storage.baseRoot, address)
        for (const slot of storage.dirty.keys()) {
          const value = storage.slots.get(slot) ?? EMPTY_BYTES
          const slotHash = this.source.hashKey(slot)
          const leaf = value.length === 0 ? null : encodeRlp(value)
          if (leaf === null) trie.delete(slotHash)
          else trie.put(slotHash, leaf)
          writes.set(slotKey(key, slotHash), leaf)
        }
        storage.baseRoot = fromHex(this.commitTrie(trie, changes, address))
        storage.dirty.clear()
        record = { ...record, storageRoot: storage.baseRoot }
        this.accounts.set(address, record)
      }
      const leaf = encodeAccount(record)
      this.trie.put(key, leaf)
      writes.set(accountKey(key), leaf)
    }
    committed.record = record
  }

  private storageOf(address: Hex): AccountStorage {
    let storage = this.storages.get(address)
    if (storage === undefined) {
      const baseRoot = this.account(address)?.storageRoot ?? EMPTY_STORAGE_ROOT
      storage = {
        baseRoot,
        // An empty storage may belong to an account that was deleted and created again.
        isOriginal: !equalBytes(baseRoot, EMPTY_STORAGE_ROOT),
        slots: new Map(),
        dirty: new Map(),
      }
      this.storages.set(address, storage)
    }
    return storage
  }
}

const EMPTY_ACCOUNT: AccountRecord = {
  nonce: 0n,
  balance: 0n,
  storageRoot: EMPTY_STORAGE_ROOT,
  codeHash: EMPTY_CODE_HASH,
}
