import type { PeerId } from '@libp2p/interface'
import { keccak256 } from '../../lib/hash.ts'
import { toHex } from '../../lib/hex.ts'
import { decompressPublicKey } from '../../lib/secp256k1.ts'

const UNKNOWN = '0'.repeat(64)

/** discv5's "v4" identity; zeros for another kind of key. */
export function nodeIdOf(peerId: PeerId): string {
  const key = peerId.publicKey
  return key === undefined || key.type !== 'secp256k1' ? UNKNOWN : nodeIdOfKey(key.raw)
}

/** keccak256 of the uncompressed secp256k1 key without its prefix. */
export function nodeIdOfKey(publicKey: Uint8Array): string {
  return toHex(keccak256(decompressPublicKey(publicKey).subarray(1))).slice(2)
}
