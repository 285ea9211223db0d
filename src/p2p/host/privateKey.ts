import { UsageError } from '../../lib/errors.ts'
import { fromHex } from '../../lib/hex.ts'
import { isPrivateKey } from '../../lib/secp256k1.ts'

export const PRIVATE_KEY_BYTES = 32

/**
 * Parses the hex text of a private key; surrounding blanks and `0x` are allowed. Throws UsageError without quoting the
 * key.
 */
export function parsePrivateKeyHex(text: string): Uint8Array {
  const digits = text.trim().replace(/^0x/i, '')
  if (!/^[0-9a-fA-F]*$/.test(digits) || digits.length % 2 !== 0) {
    throw new UsageError('p2p priv key is not formatted in hex chars')
  }
  const raw = fromHex(digits)
  checkPrivateKey(raw)
  return raw
}

/** Throws UsageError when the bytes are not a secp256k1 private key, without quoting them. */
export function checkPrivateKey(raw: Uint8Array): void {
  if (raw.length !== PRIVATE_KEY_BYTES) {
    throw new UsageError(`p2p priv key must be ${PRIVATE_KEY_BYTES} bytes, got ${raw.length}`)
  }
  if (!isPrivateKey(raw)) throw new UsageError('p2p priv key is not a valid secp256k1 private key')
}
