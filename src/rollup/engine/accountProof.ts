import { bigIntToMinimalBytes, equalBytes } from '../../lib/bytes.ts'
import { DecodeError, DeviumError } from '../../lib/errors.ts'
import { keccak256 } from '../../lib/hash.ts'
import { fromHex, type Hex, isHex, normalizeHex, quantityToBigInt } from '../../lib/hex.ts'
import { decodeRlp, encodeRlp, type RlpItem } from '../../lib/rlp.ts'
import { asArray, asObject } from './rawTransaction.ts'

/** The account part of eth_getProof's answer (EIP-1186). */
export interface AccountProof {
  address: Hex
  balance: bigint
  codeHash: Hex
  nonce: bigint
  storageHash: Hex
  /** RLP of the trie nodes from the root to the account. */
  accountProof: Uint8Array[]
}

export function accountProofFromJson(json: unknown): AccountProof {
  const object = asObject(json, 'eth_getProof answer')
  return {
    address: normalizeHex(object.address, 20, 'proof address'),
    balance: quantityToBigInt(object.balance, 'proof balance'),
    codeHash: normalizeHex(object.codeHash, 32, 'proof codeHash'),
    nonce: quantityToBigInt(object.nonce, 'proof nonce'),
    storageHash: normalizeHex(object.storageHash, 32, 'proof storageHash'),
    accountProof: asArray(object.accountProof, 'accountProof').map((node) => {
      if (!isHex(node)) throw new DecodeError('accountProof node: expected hex')
      return fromHex(node, undefined, 'accountProof node')
    }),
  }
}

/** Throws unless the proof shows that the account stands as claimed in the state with this root. */
export function verifyAccountProof(proof: AccountProof, stateRoot: Hex): void {
  const claimed = encodeRlp([
    bigIntToMinimalBytes(proof.nonce),
    bigIntToMinimalBytes(proof.balance),
    fromHex(proof.storageHash),
    fromHex(proof.codeHash),
  ])
  const found = walk(proof.accountProof, fromHex(stateRoot, 32), toNibbles(keccak256(fromHex(proof.address, 20))))
  if (found === undefined || !equalBytes(found, claimed)) {
    throw new DeviumError(
      'bad-account-proof',
      `account proof of ${proof.address} does not match state root ${stateRoot}`,
    )
  }
}

/** Follows a Merkle-Patricia proof (Yellow Paper appendix D); undefined when the nodes do not lead to a value. */
function walk(nodes: readonly Uint8Array[], root: Uint8Array, path: readonly number[]): Uint8Array | undefined {
  let expectedHash = root
  let depth = 0
  for (const encoded of nodes) {
    if (!equalBytes(keccak256(encoded), expectedHash)) return undefined
    let node: RlpItem = decodeRlp(encoded)
    // Nodes shorter than 32 bytes stand inside their parent: stay in this element until a hash leads to the next one.
    for (;;) {
      if (!Array.isArray(node)) return undefined
      let next: RlpItem | undefined
      if (node.length === 17) {
        next = node[path[depth] ?? 16]
        depth += 1
      } else {
        const [key, value] = node
        if (!(key instanceof Uint8Array) || value === undefined) return undefined
        const { nibbles, isLeaf } = decodeCompactPath(key)
        if (nibbles.some((nibble, index) => nibble !== path[depth + index])) return undefined
        depth += nibbles.length
        if (isLeaf) return depth === path.length && value instanceof Uint8Array ? value : undefined
        next = value
      }
      if (next === undefined) return undefined
      if (next instanceof Uint8Array) {
        expectedHash = next
        break
      }
      node = next
    }
  }
  return undefined
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
