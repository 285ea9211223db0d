import { expect, it } from 'vitest'
import { encodeRlp } from '../../lib/rlp.ts'
import { decodeAccount, EMPTY_CODE_HASH, EMPTY_STORAGE_ROOT, encodeAccount } from './account.ts'

const INTEGERS = [0n, 1n, 0x7fn, 0x80n, 0xffn, 0x100n, 2n ** 64n - 1n]

it.each([...INTEGERS, 2n ** 128n, 2n ** 256n - 1n])('encodes and decodes an account with the balance %s', (balance) => {
  for (const nonce of INTEGERS) {
    const account = { nonce, balance, storageRoot: EMPTY_STORAGE_ROOT, codeHash: EMPTY_CODE_HASH }
    const encoding = encodeAccount(account)
    expect(encoding).toEqual(encodeRlp([nonce, balance, EMPTY_STORAGE_ROOT, EMPTY_CODE_HASH]))
    expect(decodeAccount(encoding)).toEqual(account)
  }
})
