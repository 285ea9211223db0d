import { createRIPEMD160 } from 'hash-wasm'
import { bytesToBigInt, EMPTY_BYTES } from '../../../lib/bytes.ts'
import { keccak256, sha256 } from '../../../lib/hash.ts'
import { recoverPublicKey } from '../../../lib/secp256k1.ts'
import { oneStep, type Precompile, padded } from './precompile.ts'

// The first four precompiles, Yellow Paper appendix E.

const ECRECOVER_GAS = 3_000n
const ECRECOVER_BYTES = 128

const ripemd = await createRIPEMD160()

/** A price for each call plus a price for each word of input. */
function perWord(base: bigint, word: bigint): Precompile['gas'] {
  return (input) => base + word * BigInt(Math.ceil(input.length / 32))
}

/** Address that signed a hash, as a word. Empty if the signature is invalid. */
export const ecrecover: Precompile = {
  gas: () => ECRECOVER_GAS,
  run: oneStep((data) => {
    const input = padded(data, ECRECOVER_BYTES)
    const v = bytesToBigInt(input.subarray(32, 64))
    if (v !== 27n && v !== 28n) return EMPTY_BYTES
    let publicKey: Uint8Array
    try {
      publicKey = recoverPublicKey(
        input.subarray(0, 32),
        input.subarray(64, 96),
        input.subarray(96, 128),
        Number(v) - 27,
      )
    } catch {
      return EMPTY_BYTES
    }
    const word = new Uint8Array(32)
    word.set(keccak256(publicKey).subarray(12), 12)
    return word
  }),
}

export const sha256Hash: Precompile = {
  gas: perWord(60n, 12n),
  run: oneStep(sha256),
}

export const ripemd160Hash: Precompile = {
  gas: perWord(600n, 120n),
  run: oneStep((input) => {
    const word = new Uint8Array(32)
    ripemd.init()
    ripemd.update(input)
    word.set(ripemd.digest('binary'), 12)
    return word
  }),
}

export const identity: Precompile = {
  gas: perWord(15n, 3n),
  run: oneStep((input) => input.slice()),
}
