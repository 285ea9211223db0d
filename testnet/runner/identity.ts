import { concatBytes } from '../../src/lib/bytes.ts'
import { toHex } from '../../src/lib/hex.ts'
import { decompressPublicKey, publicKeyOf } from '../../src/lib/secp256k1.ts'

const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'

/**
 * The libp2p peer id of a secp256k1 key, which is known before the node runs. It is base58 of the identity multihash of the
 * protobuf { type: Secp256k1 (2), data: compressed public key } (libp2p specs: peer-ids).
 */
export function peerIdOf(privateKey: Uint8Array): string {
  return peerIdOfPublicKey(publicKeyOf(privateKey))
}

/** Peer id of a compressed public key, 33 bytes. */
export function peerIdOfPublicKey(publicKey: Uint8Array): string {
  const protobuf = concatBytes(Uint8Array.of(0x08, 0x02, 0x12, publicKey.length), publicKey)
  return base58(concatBytes(Uint8Array.of(0x00, protobuf.length), protobuf))
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

/** Bitcoin's base58: a leading zero byte is a leading 1. */
function base58(bytes: Uint8Array): string {
  let value = BigInt(`0x${Buffer.from(bytes).toString('hex')}`)
  let text = ''
  while (value > 0n) {
    text = (ALPHABET[Number(value % 58n)] ?? '') + text
    value /= 58n
  }
  const zeros = bytes.findIndex((byte) => byte !== 0)
  return '1'.repeat(zeros) + text
}
