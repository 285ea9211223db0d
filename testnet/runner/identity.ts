import { publicKeyFromRaw } from '@libp2p/crypto/keys'
import { peerIdFromPublicKey } from '@libp2p/peer-id'
import { toHex } from '../../src/lib/hex.ts'
import { decompressPublicKey, publicKeyOf } from '../../src/lib/secp256k1.ts'

/** The libp2p peer id of a secp256k1 key, which is known before the node runs. */
export function peerIdOf(privateKey: Uint8Array): string {
  return peerIdFromPublicKey(publicKeyFromRaw(publicKeyOf(privateKey))).toString()
}

/**
 * The enode of a node with this key. It locates a node without a signed record. Discovery listens on the same port number, by
 * UDP.
 */
export function enodeOf(privateKey: Uint8Array, ip: string, port: number): string {
  // Without the prefix byte of an uncompressed key.
  const point = decompressPublicKey(publicKeyOf(privateKey)).subarray(1)
  return `enode://${toHex(point).slice(2)}@${ip}:${port}`
}
