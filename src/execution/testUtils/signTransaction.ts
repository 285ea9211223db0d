import { concatBytes } from '../../lib/bytes.ts'
import { keccak256 } from '../../lib/hash.ts'
import { fromHex, type Hex, toHex, toQuantity } from '../../lib/hex.ts'
import { encodeRlp, type RlpInput } from '../../lib/rlp.ts'
import { privateKeyToAddress, signHash } from '../../lib/secp256k1.ts'
import type { SignedTransaction } from '../chain/block.ts'
import { decodeSignedTransaction } from '../tx/decodeTransaction.ts'

export interface TestTransaction {
  chainId?: bigint
  nonce?: number
  maxFeePerGas?: bigint
  maxPriorityFeePerGas?: bigint
  gasLimit?: bigint
  to?: Hex | null
  value?: bigint
  data?: Uint8Array
}

/** Private key number `index`, from 1. */
export function testKey(index: number): Uint8Array {
  const key = new Uint8Array(32)
  new DataView(key.buffer).setUint32(28, index)
  return key
}

export function testAddress(index: number): Hex {
  return privateKeyToAddress(testKey(index))
}

/** A dynamic-fee transaction of chain 901, signed with `key`. */
export function signTransaction(key: Uint8Array, fields: TestTransaction = {}): SignedTransaction {
  const body: RlpInput[] = [
    fields.chainId ?? 901n,
    fields.nonce ?? 0,
    fields.maxPriorityFeePerGas ?? 1_000_000n,
    fields.maxFeePerGas ?? 2_000_000_000n,
    fields.gasLimit ?? 21_000n,
    fields.to === null ? new Uint8Array() : fromHex(fields.to ?? '0x1111111111111111111111111111111111111111'),
    fields.value ?? 0n,
    fields.data ?? new Uint8Array(),
    [],
  ]
  const { r, s, yParity } = signHash(keccak256(typed(2, body)), key)
  return decodeSignedTransaction(typed(2, [...body, yParity, trim(r), trim(s)]))
}

/** A legacy transaction, without replay protection when `chainId` is undefined. */
export function signLegacyTransaction(
  key: Uint8Array,
  { chainId, nonce = 0, gasPrice = 2_000_000_000n }: { chainId?: bigint; nonce?: number; gasPrice?: bigint },
): SignedTransaction {
  const body: RlpInput[] = [nonce, gasPrice, 21_000n, new Uint8Array(20), 0n, new Uint8Array()]
  const signed = chainId === undefined ? body : [...body, chainId, 0, 0]
  const { r, s, yParity } = signHash(keccak256(encodeRlp(signed)), key)
  const v = chainId === undefined ? BigInt(27 + yParity) : chainId * 2n + 35n + BigInt(yParity)
  return decodeSignedTransaction(encodeRlp([...body, v, trim(r), trim(s)]))
}

function typed(type: number, body: RlpInput[]): Uint8Array {
  return concatBytes(Uint8Array.of(type), encodeRlp(body))
}

function trim(bytes: Uint8Array): Uint8Array {
  const start = bytes.findIndex((byte) => byte !== 0)
  return bytes.subarray(start === -1 ? bytes.length : start)
}

/** Keys of the accounts that the recorded chains' genesis funds: those of Anvil's and Hardhat's default mnemonic. */
export const DEV_KEYS = [
  '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80',
  '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d',
  '0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a',
].map((key) => fromHex(key)) as [Uint8Array, Uint8Array, Uint8Array]

export const DEV_ADDRESSES = DEV_KEYS.map(privateKeyToAddress) as [Hex, Hex, Hex]

/** An entry of an EIP-7702 authorization list, as a call's JSON has it; for any chain unless one is named. */
export function signAuthorization(
  key: Uint8Array,
  { address, nonce = 0, chainId = 0n }: { address: Hex; nonce?: number; chainId?: bigint },
): Record<string, string> {
  const signed = concatBytes(Uint8Array.of(0x05), encodeRlp([chainId, fromHex(address), nonce]))
  const { r, s, yParity } = signHash(keccak256(signed), key)
  const [quantityR, quantityS] = [r, s].map((bytes) => toQuantity(BigInt(toHex(bytes)))) as [string, string]
  return {
    chainId: toQuantity(chainId),
    address,
    nonce: toQuantity(nonce),
    yParity: toQuantity(yParity),
    r: quantityR,
    s: quantityS,
  }
}

/** A set-code transaction (EIP-7702) with these entries, each as signAuthorization gives it. */
export function signSetCode(key: Uint8Array, entries: readonly Record<string, string>[]): Uint8Array {
  const list = entries.map(({ chainId = '', address = '', nonce = '', yParity = '', r = '', s = '' }) => {
    const [chain, at, parity, ...signature] = [chainId, nonce, yParity, r, s].map((quantity) => BigInt(quantity))
    return [chain ?? 0n, fromHex(address), at ?? 0n, parity ?? 0n, ...signature]
  })
  const body: RlpInput[] = [901n, 0, 1_000_000n, 2_000_000_000n, 50_000_000n, new Uint8Array(20), 0n, new Uint8Array()]
  const signed = [...body, [], list]
  const { r, s, yParity } = signHash(keccak256(typed(4, signed)), key)
  return typed(4, [...signed, yParity, trim(r), trim(s)])
}
