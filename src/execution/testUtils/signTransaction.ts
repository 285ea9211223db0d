import { keccak256 } from '../../lib/hash.ts'
import { fromHex, type Hex, normalizeHex, toHex, toQuantity } from '../../lib/hex.ts'
import { encodeTypedRlp } from '../../lib/rlp.ts'
import { privateKeyToAddress, signHash } from '../../lib/secp256k1.ts'
import {
  decodeSignedTransaction,
  encodeSigned,
  signingHash,
  type UnsignedTransaction,
  ZERO_ADDRESS,
} from '../../rollup/protocol/index.ts'
import type { SignedTransaction } from '../primitives/block.ts'

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
  return decodeSignedTransaction(sign({ ...DEFAULTS, ...fields }, key))
}

/** A legacy transaction. Without replay protection if `chainId` is undefined. */
export function signLegacyTransaction(
  key: Uint8Array,
  { chainId, nonce = 0, gasPrice = 2_000_000_000n }: { chainId?: bigint; nonce?: number; gasPrice?: bigint },
): SignedTransaction {
  const { chainId: _, ...fields } = DEFAULTS
  const protection = chainId === undefined ? {} : { chainId }
  const tx = { ...fields, ...protection, type: 0 as const, nonce, maxFeePerGas: gasPrice, to: ZERO_ADDRESS }
  return decodeSignedTransaction(sign(tx, key))
}

const DEFAULTS: UnsignedTransaction = {
  type: 2,
  chainId: 901n,
  nonce: 0,
  maxPriorityFeePerGas: 1_000_000n,
  maxFeePerGas: 2_000_000_000n,
  gasLimit: 21_000n,
  to: '0x1111111111111111111111111111111111111111',
  value: 0n,
  data: new Uint8Array(),
  accessList: [],
}

function sign(tx: UnsignedTransaction, key: Uint8Array): Uint8Array {
  return encodeSigned(tx, signHash(signingHash(tx), key))
}

/** Keys of the accounts that the recorded chains' genesis funds: those of Anvil's and Hardhat's default mnemonic. */
export const DEV_KEYS = [
  '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80',
  '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d',
  '0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a',
].map((key) => fromHex(key)) as [Uint8Array, Uint8Array, Uint8Array]

export const DEV_ADDRESSES = DEV_KEYS.map(privateKeyToAddress) as [Hex, Hex, Hex]

/** An entry of an EIP-7702 authorization list, as in a call's JSON. For any chain unless one is given. */
export function signAuthorization(
  key: Uint8Array,
  { address, nonce = 0, chainId = 0n }: { address: Hex; nonce?: number; chainId?: bigint },
): Record<string, string> {
  const signed = encodeTypedRlp(0x05, [chainId, fromHex(address), nonce])
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

/** A set-code transaction (EIP-7702) with these entries, each as signAuthorization returns it. */
export function signSetCode(key: Uint8Array, entries: readonly Record<string, string>[]): Uint8Array {
  const authorizationList = entries.map(({ chainId = '', address, nonce = '', yParity = '', r = '', s = '' }) => ({
    ...{ chainId: BigInt(chainId), address: normalizeHex(address, 20, 'address'), nonce: BigInt(nonce) },
    ...{ yParity: Number(yParity), r: BigInt(r), s: BigInt(s) },
  }))
  return sign({ ...DEFAULTS, type: 4, gasLimit: 50_000_000n, to: ZERO_ADDRESS, authorizationList }, key)
}
