import { UsageError } from '../../lib/errors.ts'
import { fromHex } from '../../lib/hex.ts'
import { isPrivateKey } from '../../lib/secp256k1.ts'

export const PRIVATE_KEY_BYTES = 32

/** Hex text of a private key, blanks around it and an `0x` before it tolerated. Throws UsageError without quoting it. */
export function parsePrivateKeyHex(text: string): Uint8Array {
  const digits = text.trim().replace(/^0x/i, '')
  if (!/^[0-9a-fA-F]*$/.test(digits) || digits.length % 2 !== 0) {
    throw new UsageError('p2p priv key is not formatted in hex chars')
  }
  const raw = fromHex(digits)
  checkPrivateKey(raw)
  return raw
}

/** Throws UsageError when they are no secp256k1 private key, without quoting them. */
export function checkPrivateKey(raw: Uint8Array): void {
  if (raw.length !== PRIVATE_KEY_BYTES) {
    throw new UsageError(`p2p priv key must be ${PRIVATE_KEY_BYTES} bytes, got ${raw.length}`)
  }
  if (!isPrivateKey(raw)) throw new UsageError('p2p priv key is not a valid secp256k1 private key')
}
