import { bigIntToBytes, concatBytes } from '../../../lib/bytes.ts'
import { keccak256, keccak256Hex } from '../../../lib/hash.ts'
import { fromHex, type Hex } from '../../../lib/hex.ts'

// specs: deposits, "Source hash computation"; domain 4: interop/derivation.

/** Source hash of a user deposit; `logIndex` is the index of its log in the L1 block. */
export function userDepositSourceHash(l1BlockHash: Hex, logIndex: number): Hex {
  return sourceHash(0n, blockIndexHash(l1BlockHash, logIndex))
}

/** Source hash of the L1-info deposit. */
export function l1InfoSourceHash(l1BlockHash: Hex, sequenceNumber: number): Hex {
  return sourceHash(1n, blockIndexHash(l1BlockHash, sequenceNumber))
}

/** Source hash of an upgrade deposit. `intent` is the exact wording of the specification. */
export function upgradeSourceHash(intent: string): Hex {
  return sourceHash(2n, keccak256(new TextEncoder().encode(intent)))
}

/** Source hash of the deposit that replaces an invalidated block. */
export function invalidatedBlockSourceHash(outputRoot: Hex): Hex {
  return sourceHash(4n, fromHex(outputRoot, 32, 'output root'))
}

function sourceHash(domain: bigint, identifier: Uint8Array): Hex {
  return keccak256Hex(concatBytes(bigIntToBytes(domain, 32), identifier))
}

function blockIndexHash(l1BlockHash: Hex, index: number): Uint8Array {
  return keccak256(concatBytes(fromHex(l1BlockHash, 32, 'L1 block hash'), bigIntToBytes(BigInt(index), 32)))
}
