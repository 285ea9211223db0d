import { bigIntToMinimalBytes } from '../../lib/bytes.ts'
import { fromHex } from '../../lib/hex.ts'
import { decodeRlp, encodeRlp, rlpBigInt, rlpBytes, rlpList } from '../../lib/rlp.ts'
import { EMPTY_TRIE_ROOT } from './trie.ts'

/** An account as the state trie stores it. Never changed in place. */
export interface AccountRecord {
  readonly nonce: bigint
  readonly balance: bigint
  readonly storageRoot: Uint8Array
  readonly codeHash: Uint8Array
}

export const EMPTY_STORAGE_ROOT = fromHex(EMPTY_TRIE_ROOT)
/** keccak256 of nothing. */
export const EMPTY_CODE_HASH = fromHex('0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470')

export function encodeAccount(record: AccountRecord): Uint8Array {
  return encodeRlp([
    bigIntToMinimalBytes(record.nonce),
    bigIntToMinimalBytes(record.balance),
    record.storageRoot,
    record.codeHash,
  ])
}

/** Throws DecodeError. */
export function decodeAccount(encoding: Uint8Array): AccountRecord {
  const [nonce, balance, storageRoot, codeHash] = rlpList(decodeRlp(encoding), 'account', 4)
  return {
    nonce: rlpBigInt(nonce, 'account nonce', 8),
    balance: rlpBigInt(balance, 'account balance'),
    storageRoot: rlpBytes(storageRoot, 'account storage root', 32),
    codeHash: rlpBytes(codeHash, 'account code hash', 32),
  }
}

/** EIP-161: no nonce, no balance, no code. */
export function isEmptyAccount(record: AccountRecord): boolean {
  return record.nonce === 0n && record.balance === 0n && Buffer.compare(record.codeHash, EMPTY_CODE_HASH) === 0
}
