import { createHmac, pbkdf2Sync } from 'node:crypto'
import { bigIntToBytes, bytesToBigInt, concatBytes } from '../../lib/bytes.ts'
import { UsageError } from '../../lib/errors.ts'
import { fromHex, type Hex } from '../../lib/hex.ts'
import { privateKeyToAddress, publicKeyOf, signHash } from '../../lib/secp256k1.ts'
import { encodeSignedTx, type L1Tx, type SignedTx, signingHash } from './transaction.ts'

/** Signs L1 transactions of one account. The key stays inside: it is no property and never logged. */
export interface TxSigner {
  readonly address: Hex
  signTransaction(tx: L1Tx): Promise<SignedTx>
}

/** BIP-44 path of the first account, as wallets and Anvil use it. */
export const DEFAULT_HD_PATH = "m/44'/60'/0'/0/0"

/** Order of the secp256k1 group (SEC 2, section 2.4.1). */
const CURVE_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

export interface SignerSource {
  /** 32 bytes of hex. */
  privateKey?: string | undefined
  mnemonic?: string | undefined
  hdPath?: string | undefined
}

/** Exactly one source must be given. Throws UsageError; no message ever repeats a secret. */
export function createLocalSigner(source: SignerSource): TxSigner {
  const { privateKey, mnemonic } = source
  if (privateKey !== undefined && mnemonic !== undefined)
    throw new UsageError('--private-key and --mnemonic cannot be used together')
  if (privateKey !== undefined) return signerOf(parsePrivateKey(privateKey))
  if (mnemonic !== undefined) return signerOf(privateKeyFromMnemonic(mnemonic, source.hdPath ?? DEFAULT_HD_PATH))
  throw new UsageError('no account to send from: give --private-key or --mnemonic')
}

function signerOf(key: Uint8Array): TxSigner {
  return {
    address: privateKeyToAddress(key),
    signTransaction: async (tx) => encodeSignedTx(tx, signHash(signingHash(tx), key)),
  }
}

function parsePrivateKey(text: string): Uint8Array {
  let key: Uint8Array
  try {
    key = fromHex(text.trim(), 32)
  } catch {
    throw new UsageError('--private-key must be 32 bytes of hex (64 digits)')
  }
  const scalar = bytesToBigInt(key)
  if (scalar === 0n || scalar >= CURVE_ORDER) throw new UsageError('--private-key is not a valid secp256k1 key')
  return key
}

/** BIP-39 seed (no passphrase) and BIP-32 derivation along `path`. */
export function privateKeyFromMnemonic(mnemonic: string, path: string): Uint8Array {
  const words = mnemonic.trim().split(/\s+/)
  if (words.length < 12 || words.length > 24 || words.length % 3 !== 0)
    throw new UsageError('--mnemonic must have 12, 15, 18, 21 or 24 words')
  const seed = pbkdf2Sync(words.join(' ').normalize('NFKD'), 'mnemonic', 2048, 64, 'sha512')
  let node: Uint8Array = createHmac('sha512', 'Bitcoin seed').update(seed).digest()
  for (const index of parsePath(path)) node = childOf(node, index)
  return node.slice(0, 32)
}

/** BIP-32 CKDpriv on key ‖ chain code. */
function childOf(node: Uint8Array, index: number): Uint8Array {
  const key = node.subarray(0, 32)
  const hardened = index >= 0x80000000
  const indexBytes = bigIntToBytes(BigInt(index), 4)
  const data = hardened
    ? concatBytes(Uint8Array.of(0), key, indexBytes)
    : concatBytes(publicKeyOf(new Uint8Array(key), true), indexBytes)
  const digest = createHmac('sha512', node.subarray(32)).update(data).digest()
  const child = (bytesToBigInt(digest.subarray(0, 32)) + bytesToBigInt(key)) % CURVE_ORDER
  return concatBytes(bigIntToBytes(child, 32), digest.subarray(32))
}

function parsePath(path: string): number[] {
  const [root, ...parts] = path.split('/')
  if (root !== 'm') throw new UsageError(`--hd-path must begin with m/, got ${path}`)
  return parts.map((part) => {
    const match = /^(\d+)(['h]?)$/.exec(part)
    const index = Number(match?.[1])
    if (match === null || index >= 0x80000000) throw new UsageError(`--hd-path has a bad element: ${part}`)
    return match[2] === '' ? index : index + 0x80000000
  })
}
