import { createHash } from 'node:crypto'
import type { PrivateKey } from '@libp2p/interface'
import { signHashDer, verifyHashDer } from '../../lib/secp256k1.ts'

/** As libp2p hands it over: one buffer or a list of them. */
type Signed = Uint8Array | Iterable<Uint8Array>

interface SecpKey {
  readonly raw: Uint8Array
}

/**
 * libp2p signs and verifies in JavaScript who a peer is: 0.6 and 1.4 ms, most of what an incoming connection costs, and
 * whoever has many addresses may open many. From here on all its secp256k1 keys, which this one is of, do it by our
 * native library, in 0.06 ms each. The signatures are the same.
 */
export function signNatively(key: PrivateKey): void {
  replace(key, 'sign', function (this: SecpKey, message: Signed): Uint8Array {
    return signHashDer(digest(message), this.raw)
  })
  replace(key.publicKey, 'verify', function (this: SecpKey, message: Signed, signature: Uint8Array): boolean {
    return verifyHashDer(signature, digest(message), this.raw)
  })
}

/** A method of the object's class. */
function replace(instance: object, name: string, value: (this: SecpKey, ...parameters: never[]) => unknown): void {
  Object.defineProperty(Object.getPrototypeOf(instance), name, { value, configurable: true, writable: true })
}

function digest(message: Signed): Uint8Array {
  const hash = createHash('sha256')
  if (message instanceof Uint8Array) hash.update(message)
  else for (const part of message) hash.update(part)
  return hash.digest()
}
