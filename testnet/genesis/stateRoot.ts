import { EMPTY_BYTES } from '../../src/lib/bytes.ts'
import { keccak256 } from '../../src/lib/hash.ts'
import { fromHex, type Hex, toHex } from '../../src/lib/hex.ts'
import { encodeRlp, type RlpInput } from '../../src/lib/rlp.ts'

/** An account of a genesis file's `alloc`, in geth's JSON shape. */
export interface GenesisAccount {
  balance: Hex
  nonce?: Hex
  code?: Hex
  /** 32-byte slots to 32-byte values. */
  storage?: Record<Hex, Hex>
}
/** Accounts by lower-case address. */
export type GenesisAlloc = Record<Hex, GenesisAccount>

interface Leaf {
  /** keccak256 of the key. */
  path: Uint8Array
  value: Uint8Array
}

/**
 * State root of a genesis allocation (Yellow Paper appendix D, hashed keys). Storage roots and code hashes are cached by content,
 * because nearly all of the 2,000 predeploy proxies are equal.
 */
export function computeStateRoot(alloc: GenesisAlloc): Hex {
  const codeHashes = new Map<string, Uint8Array>()
  const storageRoots = new Map<string, Uint8Array>()
  const leaves = Object.entries(alloc).map(([address, account]): Leaf => {
    const code = account.code ?? '0x'
    const storage = Object.entries(account.storage ?? {})
    const codeHash = remember(codeHashes, code, () => keccak256(fromHex(code)))
    const storageRoot = remember(storageRoots, storage.join(), () => trieRoot(storage.flatMap(storageLeaf)))
    return {
      path: keccak256(fromHex(address, 20, 'genesis account')),
      value: encodeRlp([BigInt(account.nonce ?? '0x0'), BigInt(account.balance), storageRoot, codeHash]),
    }
  })
  return toHex(trieRoot(leaves))
}

/** Root of an account's storage. */
export function computeStorageRoot(account: GenesisAccount | undefined): Uint8Array {
  return trieRoot(Object.entries(account?.storage ?? {}).flatMap(storageLeaf))
}

function remember(cache: Map<string, Uint8Array>, key: string, compute: () => Uint8Array): Uint8Array {
  let value = cache.get(key)
  if (value === undefined) {
    value = compute()
    cache.set(key, value)
  }
  return value
}

/** A zero slot is not in the trie. */
function storageLeaf([slot, value]: [string, Hex]): Leaf[] {
  const number = BigInt(value)
  return number === 0n ? [] : [{ path: keccak256(fromHex(slot, 32, 'storage slot')), value: encodeRlp(number) }]
}

function trieRoot(leaves: Leaf[]): Uint8Array {
  if (leaves.length === 0) return keccak256(encodeRlp(EMPTY_BYTES))
  const sorted = leaves.sort((a, b) => Buffer.compare(a.path, b.path))
  return keccak256(encodeRlp(node(sorted, 0, sorted.length, 0)))
}

/** The trie node over the leaves [start, end), which share their first `depth` nibbles. */
function node(leaves: readonly Leaf[], start: number, end: number, depth: number): RlpInput {
  const first = leaves[start]
  const last = leaves[end - 1]
  if (first === undefined || last === undefined) throw new RangeError('a trie node needs a leaf')
  if (first === last) return [hexPrefix(first.path, depth, 64, true), first.value]
  let shared = depth
  while (nibble(first.path, shared) === nibble(last.path, shared)) shared++
  if (shared > depth)
    return [hexPrefix(first.path, depth, shared, false), reference(branch(leaves, start, end, shared))]
  return branch(leaves, start, end, depth)
}

function branch(leaves: readonly Leaf[], start: number, end: number, depth: number): RlpInput {
  const children: RlpInput[] = []
  let from = start
  for (let value = 0; value < 16; value++) {
    let to = from
    while (to < end && nibble(leaves[to]?.path ?? EMPTY_BYTES, depth) === value) to++
    children.push(to === from ? EMPTY_BYTES : reference(node(leaves, from, to, depth + 1)))
    from = to
  }
  return [...children, EMPTY_BYTES]
}

/** A trie node shorter than a hash is embedded in its parent. */
function reference(content: RlpInput): RlpInput {
  const encoded = encodeRlp(content)
  return encoded.length < 32 ? content : keccak256(encoded)
}

function nibble(path: Uint8Array, index: number): number {
  const byte = path[index >> 1] ?? 0
  return index % 2 === 0 ? byte >> 4 : byte & 15
}

/** Nibbles [from, to) with a flag for leaf and odd length (Yellow Paper appendix C). */
function hexPrefix(path: Uint8Array, from: number, to: number, isLeaf: boolean): Uint8Array {
  const odd = (to - from) % 2
  const out = new Uint8Array(1 + (to - from - odd) / 2)
  out[0] = (isLeaf ? 0x20 : 0) | (odd === 1 ? 0x10 | nibble(path, from) : 0)
  for (let i = 1, at = from + odd; i < out.length; i++, at += 2) out[i] = (nibble(path, at) << 4) | nibble(path, at + 1)
  return out
}
