import { bigIntToMinimalBytes, bytesToBigInt, equalBytes } from '../../../lib/bytes.ts'
import { DeviumError } from '../../../lib/errors.ts'
import { keccak256 } from '../../../lib/hash.ts'
import { fromHex, type Hex, normalizeHex, quantityToBigInt } from '../../../lib/hex.ts'
import { JsonObjectReader, jsonBytes } from '../../../lib/jsonReader.ts'
import { decodeRlp, encodeRlp, type RlpItem } from '../../../lib/rlp.ts'
import { EMPTY_TRIE_ROOT } from '../constants.ts'

/** The account part of eth_getProof's result (EIP-1186). */
export interface AccountProof {
  address: Hex
  balance: bigint
  codeHash: Hex
  nonce: bigint
  storageHash: Hex
  /** RLP of the trie nodes from the root to the account. */
  accountProof: Uint8Array[]
}

/** One slot of eth_getProof's result. */
export interface StorageProof {
  /** 32 bytes. */
  key: Hex
  value: bigint
  /** RLP of the trie nodes from the account's storage root to the slot, or to the place where it is absent. */
  proof: Uint8Array[]
}

/** Throws DecodeError. */
export function accountProofFromJson(json: unknown): AccountProof {
  const object = new JsonObjectReader(json, 'eth_getProof answer')
  return {
    address: normalizeHex(object.raw('address'), 20, 'proof address'),
    balance: quantityToBigInt(object.raw('balance'), 'proof balance'),
    codeHash: normalizeHex(object.raw('codeHash'), 32, 'proof codeHash'),
    nonce: quantityToBigInt(object.raw('nonce'), 'proof nonce'),
    storageHash: normalizeHex(object.raw('storageHash'), 32, 'proof storageHash'),
    accountProof: object.array('accountProof').map((node) => jsonBytes(node, 'accountProof node')),
  }
}

/** The slots of the same result. Throws DecodeError. */
export function storageProofsFromJson(json: unknown): StorageProof[] {
  const slots = new JsonObjectReader(json, 'eth_getProof answer').array('storageProof')
  return slots.map((slot) => {
    const object = new JsonObjectReader(slot, 'storageProof')
    const key = quantityToBigInt(object.raw('key'), 'storageProof key')
    return {
      // Some clients omit leading zeros.
      key: `0x${key.toString(16).padStart(64, '0')}`,
      value: quantityToBigInt(object.raw('value'), 'storageProof value'),
      proof: object.array('proof').map((node) => jsonBytes(node, 'storageProof node')),
    }
  })
}

/** Throws if the proof does not show the claimed account in the state with this root. */
export function verifyAccountProof(proof: AccountProof, stateRoot: Hex): void {
  const claimed = encodeRlp([
    bigIntToMinimalBytes(proof.nonce),
    bigIntToMinimalBytes(proof.balance),
    fromHex(proof.storageHash),
    fromHex(proof.codeHash),
  ])
  const found = walk(proof.accountProof, fromHex(stateRoot, 32), toNibbles(keccak256(fromHex(proof.address, 20))))
  if (!(found instanceof Uint8Array) || !equalBytes(found, claimed)) {
    throw new DeviumError(
      'bad-account-proof',
      `account proof of ${proof.address} does not match state root ${stateRoot}`,
    )
  }
}

/** Throws if the proof does not show the claimed value (zero: no value) in the storage with this root. */
export function verifyStorageProof(proof: StorageProof, storageRoot: Hex): void {
  const found = walk(proof.proof, fromHex(storageRoot, 32), toNibbles(keccak256(fromHex(proof.key, 32))))
  const isProven =
    found instanceof Uint8Array ? readValue(found) === proof.value : found === 'absent' && proof.value === 0n
  if (isProven) return
  throw new DeviumError(
    'bad-storage-proof',
    `storage proof of slot ${proof.key} does not match storage root ${storageRoot}`,
  )
}

function readValue(encoded: Uint8Array): bigint | undefined {
  const item = decodeRlp(encoded)
  return item instanceof Uint8Array ? bytesToBigInt(item) : undefined
}

/**
 * Follows a Merkle-Patricia proof (Yellow Paper appendix D) to a value. Returns `absent` if the proof shows that there
 * is no value, and `broken` if the nodes do not form a path.
 */
function walk(
  nodes: readonly Uint8Array[],
  root: Uint8Array,
  path: readonly number[],
): Uint8Array | 'absent' | 'broken' {
  if (equalBytes(root, fromHex(EMPTY_TRIE_ROOT))) return 'absent'
  let expectedHash = root
  let depth = 0
  for (const encoded of nodes) {
    if (!equalBytes(keccak256(encoded), expectedHash)) return 'broken'
    let node: RlpItem = decodeRlp(encoded)
    // A node shorter than 32 bytes is embedded in its parent: stay in this proof element until a hash leads to the
    // next.
    for (;;) {
      if (!Array.isArray(node)) return 'broken'
      let next: RlpItem | undefined
      if (node.length === 17) {
        next = node[path[depth] ?? 16]
        depth += 1
        if (next instanceof Uint8Array && next.length === 0) return 'absent'
      } else {
        const [key, value] = node
        if (!(key instanceof Uint8Array) || value === undefined) return 'broken'
        const { nibbles, isLeaf } = decodeCompactPath(key)
        if (nibbles.some((nibble, index) => nibble !== path[depth + index])) return 'absent'
        depth += nibbles.length
        if (isLeaf) return depth === path.length && value instanceof Uint8Array ? value : 'broken'
        next = value
      }
      if (next === undefined) return 'broken'
      if (next instanceof Uint8Array) {
        expectedHash = next
        break
      }
      node = next
    }
  }
  return 'broken'
}

function decodeCompactPath(encoded: Uint8Array): { nibbles: number[]; isLeaf: boolean } {
  const all = toNibbles(encoded)
  const flags = all[0] ?? 0
  return { nibbles: all.slice((flags & 1) === 1 ? 1 : 2), isLeaf: (flags & 2) === 2 }
}

function toNibbles(bytes: Uint8Array): number[] {
  const nibbles: number[] = []
  for (const byte of bytes) nibbles.push(byte >> 4, byte & 15)
  return nibbles
}
