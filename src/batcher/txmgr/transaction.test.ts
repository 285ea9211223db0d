import { keccak256, parseTransaction, recoverTransactionAddress, type TransactionSerializedEIP1559, toHex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { describe, expect, it } from 'vitest'
import { concatBytes } from '../../lib/bytes.ts'
import { decodeRlp, encodeRlp, rlpList } from '../../lib/rlp.ts'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { networkForm } from '../../rollup/protocol/index.ts'
import { wantsCellProofs } from './sidecar.ts'
import { createLocalSigner } from './signer.ts'
import type { L1Tx } from './transaction.ts'

const KEY = '0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a'

const base: L1Tx = {
  chainId: 900n,
  nonce: 0,
  fees: { tip: 1_000_000_000n, feeCap: 3_000_000_000n },
  gasLimit: 21_000n,
  to: '0xff00000000000000000000000000000000000901',
  data: new Uint8Array(0),
}

describe('signed transactions', () => {
  it.each([
    { id: 'empty, nonce 0', tx: base },
    { id: 'calldata', tx: { ...base, nonce: 130, data: new Uint8Array(500).map((_, i) => i) } },
    {
      id: 'large numbers',
      tx: { ...base, chainId: 2n ** 52n, nonce: 2 ** 40, gasLimit: 2n ** 40n },
    },
    { id: 'zero fees', tx: { ...base, fees: { tip: 0n, feeCap: 0n } } },
  ])("equal viem's byte for byte: $id", async ({ tx }) => {
    const signed = await createLocalSigner({ privateKey: KEY }).signTransaction(tx)
    const account = privateKeyToAccount(KEY)
    const { data, chainId, gasLimit, fees, ...rest } = tx
    const expected = await account.signTransaction({
      type: 'eip1559',
      ...rest,
      chainId: Number(chainId),
      gas: gasLimit,
      maxPriorityFeePerGas: fees.tip,
      maxFeePerGas: fees.feeCap,
      data: toHex(data),
    })
    expect(toHex(signed.raw)).toBe(expected)
    expect(signed.hash).toBe(keccak256(signed.raw))
    const serializedTransaction = toHex(signed.raw) as TransactionSerializedEIP1559
    expect(parseTransaction(serializedTransaction).nonce ?? 0).toBe(tx.nonce)
    expect(await recoverTransactionAddress({ serializedTransaction })).toBe(account.address)
  })
})

describe('blob transactions', () => {
  const blobHashes = [`0x01${'ab'.repeat(31)}`, `0x01${'cd'.repeat(31)}`] as const
  const blobTx: L1Tx = { ...base, fees: { ...base.fees, blobFeeCap: 7n }, blobHashes }
  const account = privateKeyToAccount(KEY)
  const sidecar = {
    blobs: [new Uint8Array(131_072).fill(1), new Uint8Array(131_072).fill(2)],
    commitments: [new Uint8Array(48).fill(3), new Uint8Array(48).fill(4)],
    versionedHashes: blobHashes,
  }
  const viemTx = {
    type: 'eip4844' as const,
    chainId: Number(base.chainId),
    nonce: base.nonce,
    to: base.to,
    gas: base.gasLimit,
    maxFeePerGas: base.fees.feeCap,
    maxPriorityFeePerGas: base.fees.tip,
    maxFeePerBlobGas: 7n,
    blobVersionedHashes: [...blobHashes],
  }

  it("equal viem's byte for byte, alone and with blobs and proofs", async () => {
    const signed = await createLocalSigner({ privateKey: KEY }).signTransaction(blobTx)
    expect(toHex(signed.raw)).toBe(await account.signTransaction(viemTx))
    const proofs = [new Uint8Array(48).fill(5), new Uint8Array(48).fill(6)]
    const sidecars = sidecar.blobs.map((bytes, index) => ({
      blob: toHex(bytes),
      commitment: toHex(sidecar.commitments[index] ?? new Uint8Array()),
      proof: toHex(proofs[index] ?? new Uint8Array()),
    }))
    expect(toHex(networkForm(signed.raw, { ...sidecar, version: 0, proofs }))).toBe(
      await account.signTransaction({ ...viemTx, sidecars }),
    )
  })

  it('have a version byte and one flat list of cell proofs from Osaka on', async () => {
    const signed = await createLocalSigner({ privateKey: KEY }).signTransaction(blobTx)
    const proofs = Array.from({ length: 256 }, (_, index) => new Uint8Array(48).fill(index))
    const form = networkForm(signed.raw, { ...sidecar, version: 1, proofs })
    expect(form[0]).toBe(3)
    const [tx, version, blobs, commitments, cells] = rlpList(decodeRlp(form.subarray(1)), 'form', 5)
    expect([version, commitments, cells]).toEqual([Uint8Array.of(1), sidecar.commitments, proofs])
    expect(rlpList(blobs, 'blobs').length).toBe(2)
    expect(toHex(concatBytes(Uint8Array.of(3), encodeRlp(tx ?? [])))).toBe(toHex(signed.raw))
  })

  it("use cell proofs 12 s after the fork time of a known L1, or after the operator's time", () => {
    expect(wantsCellProofs(1n, undefined, 1_764_798_551 + 12)).toBe(false)
    expect(wantsCellProofs(1n, undefined, 1_764_798_551 + 13)).toBe(true)
    expect(wantsCellProofs(900n, undefined, 2 ** 40)).toBe(false)
    expect(wantsCellProofs(900n, 0, 1_700_000_000)).toBe(true)
    expect(wantsCellProofs(1n, Number.MAX_SAFE_INTEGER, 1_800_000_000)).toBe(false)
  })
})

describe('accounts', () => {
  const mnemonic = 'test test test test test test test test test test test junk'

  it('come from a private key, with or without prefix', () => {
    for (const privateKey of [KEY, KEY.slice(2), ` ${KEY}\n`])
      expect(createLocalSigner({ privateKey }).address).toBe('0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc')
  })

  it.each([
    { path: "m/44'/60'/0'/0/0", address: '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266' },
    { path: 'm/44h/60h/0h/0/2', address: '0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc' },
    { path: undefined, address: '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266' },
  ])('come from a mnemonic: $path', ({ path, address }) => {
    expect(createLocalSigner({ mnemonic, hdPath: path }).address).toBe(address)
    expect(createLocalSigner({ mnemonic: ` ${mnemonic.replaceAll(' ', ' \n')}\n`, hdPath: path }).address).toBe(address)
  })

  it('come from a mnemonic of 24 words, and from the largest index', () => {
    const words = `${'abandon '.repeat(23)}art`
    expect(createLocalSigner({ mnemonic: words }).address).toBe('0xf278cf59f82edcf871d630f28ecc8056f25c1cdb')
    expect(() => createLocalSigner({ mnemonic, hdPath: 'm/2147483647' })).not.toThrow()
  })

  it.each([
    { source: {}, named: ['--private-key', '--mnemonic'] },
    { source: { privateKey: KEY, mnemonic }, named: ['--private-key', '--mnemonic'] },
    { source: { privateKey: 'abcdef' }, named: ['--private-key', 32] },
    { source: { privateKey: '0'.repeat(64) }, named: ['--private-key', 'secp256k1'] },
    { source: { privateKey: 'f'.repeat(64) }, named: ['--private-key', 'secp256k1'] },
    ...[2, 9, 13, 23, 27].map((count) => ({
      source: { mnemonic: Array.from({ length: count }, () => 'test').join(' ') },
      named: ['--mnemonic', 12, 24],
    })),
    { source: { mnemonic: mnemonic.replace('junk', 'jnuk') }, named: ['--mnemonic', 'word 12'] },
    { source: { mnemonic: mnemonic.replace('test', 'tset') }, named: ['--mnemonic', 'word 1 of 12'] },
    { source: { mnemonic: mnemonic.replace('junk', 'test') }, named: ['--mnemonic', 'checksum'] },
    ...['x', 'x0', '0x', '', '2147483648'].map((part) => ({
      source: { mnemonic, hdPath: `m/0/${part}/0` },
      named: ['--hd-path', part],
    })),
    { source: { mnemonic, hdPath: '44/60' }, named: ['--hd-path', 'm/'] },
  ])('are refused without repeating a secret: $named', ({ source, named }) => {
    const attempt = () => createLocalSigner(source)
    expect(attempt).toThrow(errorWith('usage', ...named))
    for (const secret of ['abcdef', 'junk', 'jnuk', 'tset', 'test', KEY.slice(2)]) expect(attempt).not.toThrow(secret)
  })

  it('have no property that holds the key', () => {
    const signer = createLocalSigner({ privateKey: KEY })
    expect(JSON.stringify(Object.entries(signer)).toLowerCase()).not.toContain(KEY.slice(2))
  })
})
