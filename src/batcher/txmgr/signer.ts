import { HARDENED_OFFSET, HDKey } from '@scure/bip32'
import { mnemonicToSeedSync, validateMnemonic } from '@scure/bip39'
import { wordlist } from '@scure/bip39/wordlists/english.js'
import { UsageError } from '../../lib/errors.ts'
import { fromHex, type Hex } from '../../lib/hex.ts'
import { isPrivateKey, privateKeyToAddress, signHash } from '../../lib/secp256k1.ts'
import { encodeSigned, signingHash } from '../../rollup/protocol/index.ts'
import { type L1Tx, type SignedTx, signedTx, unsignedOf } from './transaction.ts'

/** Signs L1 transactions of one account. The key is in a closure: it is no property and is never logged. */
export interface TxSigner {
  readonly address: Hex
  signTransaction(tx: L1Tx): Promise<SignedTx>
}

/** BIP-44 path of the first account, as in wallets and Anvil. */
export const DEFAULT_HD_PATH = "m/44'/60'/0'/0/0"

export interface SignerSource {
  /** 32 bytes of hex. */
  privateKey?: string | undefined
  mnemonic?: string | undefined
  hdPath?: string | undefined
}

/** Exactly one source must be given. Throws UsageError. No message contains a secret. */
export function createLocalSigner(source: SignerSource): TxSigner {
  const { privateKey, mnemonic } = source
  if (privateKey !== undefined && mnemonic !== undefined)
    throw new UsageError('--private-key and --mnemonic cannot be used together')
  if (privateKey !== undefined) return signerOf(parsePrivateKey(privateKey))
  if (mnemonic !== undefined) return signerOf(privateKeyFromMnemonic(mnemonic, source.hdPath ?? DEFAULT_HD_PATH))
  throw new UsageError('no account to send from: set --private-key or --mnemonic')
}

function signerOf(key: Uint8Array): TxSigner {
  return {
    address: privateKeyToAddress(key),
    async signTransaction(tx) {
      const unsigned = unsignedOf(tx)
      return signedTx(encodeSigned(unsigned, signHash(signingHash(unsigned), key)))
    },
  }
}

function parsePrivateKey(text: string): Uint8Array {
  let key: Uint8Array
  try {
    key = fromHex(text.trim(), 32)
  } catch {
    throw new UsageError('--private-key must be 32 bytes of hex (64 digits)')
  }
  if (!isPrivateKey(key)) throw new UsageError('--private-key is not a valid secp256k1 key')
  return key
}

/** The key at `path` below the seed of `mnemonic` (BIP-39 without a passphrase, English words; BIP-32). */
export function privateKeyFromMnemonic(mnemonic: string, path: string): Uint8Array {
  const indexes = parsePath(path)
  const words = mnemonic.trim().split(/\s+/)
  checkMnemonic(words)
  let node = HDKey.fromMasterSeed(mnemonicToSeedSync(words.join(' ')))
  for (const index of indexes) node = node.deriveChild(index)
  if (node.privateKey === null) throw new UsageError(`--hd-path ${path} has no private key`)
  return node.privateKey
}

/** A mistyped word would select another account. Errors name a word by its position, since the words are secret. */
function checkMnemonic(words: readonly string[]): void {
  if (words.length < 12 || words.length > 24 || words.length % 3 !== 0)
    throw new UsageError('--mnemonic must have 12, 15, 18, 21 or 24 words')
  const unknown = words.findIndex((word) => !wordlist.includes(word))
  if (unknown >= 0)
    throw new UsageError(`--mnemonic: word ${unknown + 1} of ${words.length} is not in the English list of BIP-39`)
  if (!validateMnemonic(words.join(' '), wordlist))
    throw new UsageError('--mnemonic: the checksum does not match. A word is wrong or at the wrong position')
}

function parsePath(path: string): number[] {
  const [root, ...parts] = path.split('/')
  if (root !== 'm') throw new UsageError(`--hd-path must begin with m/, got ${path}`)
  return parts.map((part) => {
    const match = /^(\d+)(['h]?)$/.exec(part)
    const index = Number(match?.[1])
    if (match === null || index >= HARDENED_OFFSET) throw new UsageError(`--hd-path has a bad element: ${part}`)
    return match[2] === '' ? index : index + HARDENED_OFFSET
  })
}
