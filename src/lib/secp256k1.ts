import { bytesToText } from './bytes.ts'
import { DecodeError } from './errors.ts'
import { keccak256 } from './hash.ts'
import type { Hex } from './hex.ts'

/** r and s are 32 bytes each; yParity is 0 or 1. s is in the lower half (EIP-2). */
export interface RecoverableSignature {
  r: Uint8Array
  s: Uint8Array
  yParity: 0 | 1
}

interface Backend {
  name: 'native' | 'javascript'
  sign(hash: Uint8Array, privateKey: Uint8Array): RecoverableSignature
  /** 65 bytes that begin with 0x04. */
  recover(hash: Uint8Array, compact: Uint8Array, yParity: number): Uint8Array
  signDer(hash: Uint8Array, privateKey: Uint8Array): Uint8Array
  /** May throw any error on a malformed signature. */
  verifyDer(signature: Uint8Array, hash: Uint8Array, publicKey: Uint8Array): boolean
  publicKey(privateKey: Uint8Array, compressed: boolean): Uint8Array
  convert(publicKey: Uint8Array, compressed: boolean): Uint8Array
}

/**
 * The native library is about 30 times as fast as JavaScript. If its prebuilt binary does not load, the audited
 * JavaScript library is used, and `secp256k1Backend` reports it.
 */
async function loadBackend(): Promise<Backend> {
  try {
    const { default: native } = await import('secp256k1/bindings.js')
    return {
      name: 'native',
      sign(hash, privateKey) {
        const { signature, recid } = native.ecdsaSign(hash, privateKey)
        return { r: signature.slice(0, 32), s: signature.slice(32, 64), yParity: recid === 1 ? 1 : 0 }
      },
      recover(hash, compact, yParity) {
        if (hash.length !== 32 || compact.length !== 64) throw new RangeError('a hash has 32 bytes, r and s have 64')
        return native.ecdsaRecover(compact, yParity, hash, false, new Uint8Array(65))
      },
      signDer: (hash, privateKey) => native.signatureExport(native.ecdsaSign(hash, privateKey).signature),
      verifyDer: (signature, hash, publicKey) => native.ecdsaVerify(native.signatureImport(signature), hash, publicKey),
      publicKey: (privateKey, compressed) => native.publicKeyCreate(privateKey, compressed),
      convert: (publicKey, compressed) => native.publicKeyConvert(publicKey, compressed),
    }
  } catch {
    const { secp256k1: noble } = await import('@noble/curves/secp256k1.js')
    return {
      name: 'javascript',
      sign(hash, privateKey) {
        const signature = noble.sign(hash, privateKey, { prehash: false, format: 'recovered', lowS: true })
        return { r: signature.slice(1, 33), s: signature.slice(33, 65), yParity: signature[0] === 1 ? 1 : 0 }
      },
      recover(hash, compact, yParity) {
        const signature = noble.Signature.fromBytes(compact, 'compact').addRecoveryBit(yParity)
        return signature.recoverPublicKey(hash).toBytes(false)
      },
      signDer: (hash, privateKey) => noble.sign(hash, privateKey, { prehash: false, format: 'der' }),
      verifyDer: (signature, hash, publicKey) =>
        noble.verify(signature, hash, publicKey, { prehash: false, format: 'der' }),
      publicKey: (privateKey, compressed) => noble.getPublicKey(privateKey, compressed),
      convert: (publicKey, compressed) => noble.Point.fromBytes(publicKey).toBytes(compressed),
    }
  }
}

const backend = await loadBackend()

export const secp256k1Backend: Backend['name'] = backend.name

/** Deterministic (RFC 6979) signature of a 32-byte hash. */
export function signHash(hash: Uint8Array, privateKey: Uint8Array): RecoverableSignature {
  return backend.sign(hash, privateKey)
}

/** The same signature in DER, libp2p's encoding. */
export function signHashDer(hash: Uint8Array, privateKey: Uint8Array): Uint8Array {
  return backend.signDer(hash, privateKey)
}

/**
 * False also for a malformed signature, and for a signature whose s is in the upper half. `publicKey` has 33 or 65
 * bytes.
 */
export function verifyHashDer(signature: Uint8Array, hash: Uint8Array, publicKey: Uint8Array): boolean {
  try {
    return backend.verifyDer(signature, hash, publicKey)
  } catch {
    return false
  }
}

/** The 64-byte public key (without prefix) that made the signature. Throws DecodeError if no key can be recovered. */
export function recoverPublicKey(hash: Uint8Array, r: Uint8Array, s: Uint8Array, yParity: number): Uint8Array {
  if (yParity !== 0 && yParity !== 1) throw new DecodeError(`signature: recovery id is ${yParity}, expected 0 or 1`)
  const compact = new Uint8Array(64)
  compact.set(r, 32 - r.length)
  compact.set(s, 64 - s.length)
  return recoverCompact(hash, compact, yParity)
}

/** Like `recoverPublicKey`, from r ‖ s. */
export function recoverCompact(hash: Uint8Array, compact: Uint8Array, yParity: number): Uint8Array {
  try {
    return backend.recover(hash, compact, yParity).subarray(1)
  } catch (cause) {
    throw new DecodeError('signature: no public key can be recovered', { cause })
  }
}

/** Order of the group (SEC 2, section 2.4.1). */
export const SECP256K1_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
/** A transaction with a larger `s` is rejected (EIP-2). */
export const MAX_LOW_S = SECP256K1_ORDER / 2n
const ORDER = Buffer.from(SECP256K1_ORDER.toString(16), 'hex')
const ZERO = new Uint8Array(32)

/** Whether r and s are both above 0 and below the group's order. No key can be recovered from other values. */
export function isSignatureWellFormed(compact: Uint8Array): boolean {
  return isScalar(compact.subarray(0, 32)) && isScalar(compact.subarray(32))
}

/** Whether the bytes are a valid private key: 32 bytes, above 0 and below the group's order. */
export function isPrivateKey(bytes: Uint8Array): boolean {
  return isScalar(bytes)
}

function isScalar(bytes: Uint8Array): boolean {
  return bytes.length === 32 && Buffer.compare(bytes, ZERO) > 0 && Buffer.compare(bytes, ORDER) < 0
}

/** 33 bytes, or 65 bytes that begin with 0x04. */
export function publicKeyOf(privateKey: Uint8Array, compressed = true): Uint8Array {
  return backend.publicKey(privateKey, compressed)
}

export function decompressPublicKey(publicKey: Uint8Array): Uint8Array {
  return backend.convert(publicKey, false)
}

/** Returns 33 bytes. Throws if the input is not a point of the curve. */
export function compressPublicKey(publicKey: Uint8Array): Uint8Array {
  return backend.convert(publicKey, true)
}

/** Last 20 bytes of keccak256 of the 64-byte public key. */
export function publicKeyToAddress(publicKey64: Uint8Array): Hex {
  return `0x${bytesToText(keccak256(publicKey64), 'hex').slice(24)}`
}

export function privateKeyToAddress(privateKey: Uint8Array): Hex {
  return publicKeyToAddress(publicKeyOf(privateKey, false).subarray(1))
}
