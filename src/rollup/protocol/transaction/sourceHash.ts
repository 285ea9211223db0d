import { bigIntToBytes, concatBytes } from '../../../lib/bytes.ts'
import { keccak256, keccak256Hex } from '../../../lib/hash.ts'
import { fromHex, type Hex, toHex } from '../../../lib/hex.ts'

// specs: deposits, "Source hash computation"; domain 4: interop/derivation.

/** Source hash of a user deposit; `logIndex` is the index of its log in the L1 block. */
export function userDepositSourceHash(l1BlockHash: Hex, logIndex: number): Hex {
  return toHex(blockSourceHash(0n, l1BlockHash, logIndex))
}

/** Source hash of the L1-info deposit. */
export function l1InfoSourceHash(l1BlockHash: Hex, sequenceNumber: number): Hex {
  return toHex(l1InfoSourceHashBytes(l1BlockHash, sequenceNumber))
}

/** As bytes, because each block needs one. */
export function l1InfoSourceHashBytes(l1BlockHash: Hex, sequenceNumber: number): Uint8Array {
  return blockSourceHash(1n, l1BlockHash, sequenceNumber)
}

/** Source hash of an upgrade deposit. `intent` is the exact wording of the specification. */
export function upgradeSourceHash(intent: string): Hex {
  return keccak256Hex(concatBytes(bigIntToBytes(2n, 32), keccak256(new TextEncoder().encode(intent))))
}

/** Source hash of the deposit that replaces an invalidated block. */
export function invalidatedBlockSourceHash(outputRoot: Hex): Hex {
  return keccak256Hex(concatBytes(bigIntToBytes(4n, 32), fromHex(outputRoot, 32, 'output root')))
}

/** Reused buffer: a domain word, then an index word. */
const words = new Uint8Array(64)
const view = new DataView(words.buffer)

function blockSourceHash(domain: bigint, l1BlockHash: Hex, index: number): Uint8Array {
  words.fill(0)
  words.set(fromHex(l1BlockHash, 32, 'L1 block hash'), 0)
  view.setBigUint64(56, BigInt(index))
  const inner = keccak256(words)
  words.fill(0)
  view.setBigUint64(24, domain)
  words.set(inner, 32)
  return keccak256(words)
}
