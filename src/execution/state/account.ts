import { pooledCopy } from '../../lib/bytes.ts'
import { fromHex } from '../../lib/hex.ts'
import { decodeRlp, encodeRlpBriefly, rlpBigInt, rlpBytes, rlpList } from '../../lib/rlp.ts'
import { EMPTY_TRIE_ROOT } from '../../rollup/protocol/constants.ts'

/** An account as stored in the state trie. Never changed in place. */
export interface AccountRecord {
  readonly nonce: bigint
  readonly balance: bigint
  readonly storageRoot: Uint8Array
  readonly codeHash: Uint8Array
}

export const EMPTY_STORAGE_ROOT = fromHex(EMPTY_TRIE_ROOT)
/** keccak256 of the empty string. */
export const EMPTY_CODE_HASH = fromHex('0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470')

export function encodeAccount({ nonce, balance, storageRoot, codeHash }: AccountRecord): Uint8Array {
  const encoding = encodeRlpBriefly([nonce, balance, storageRoot, codeHash])
  return pooledCopy(encoding, 0, encoding.length)
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
