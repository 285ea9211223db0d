import { createHash } from 'node:crypto'
import { createKeccak } from 'hash-wasm'
import { type Hex, toHex } from './hex.ts'

// hash-wasm: eight times the speed of pure JavaScript on 500-byte inputs. One shared instance is safe because every
// use runs init, update and digest without yielding.
const keccak = await createKeccak(256)

export function keccak256(data: Uint8Array): Uint8Array {
  keccak.init()
  keccak.update(data)
  return keccak.digest('binary')
}

export function keccak256Hex(data: Uint8Array): Hex {
  return toHex(keccak256(data))
}

export function sha256(data: Uint8Array): Uint8Array {
  return createHash('sha256').update(data).digest()
}
