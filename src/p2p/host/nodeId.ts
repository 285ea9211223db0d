import type { PeerId } from '@libp2p/interface'
import { keccak256 } from '../../lib/hash.ts'
import { toHex } from '../../lib/hex.ts'
import { decompressPublicKey } from '../../lib/secp256k1.ts'

const UNKNOWN = '0'.repeat(64)

/**
 * discv5's "v4" identity: keccak256 of the uncompressed public key without its prefix; zeros for another kind of key.
 */
export function nodeIdOf(peerId: PeerId): string {
  const key = peerId.publicKey
  if (key === undefined || key.type !== 'secp256k1') return UNKNOWN
  return toHex(keccak256(decompressPublicKey(key.raw).subarray(1))).slice(2)
}
