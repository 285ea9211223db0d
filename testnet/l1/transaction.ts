import { bigIntToMinimalBytes, concatBytes, EMPTY_BYTES } from '../../src/lib/bytes.ts'
import { keccak256 } from '../../src/lib/hash.ts'
import { fromHex, type Hex, toHex } from '../../src/lib/hex.ts'
import { encodeRlp } from '../../src/lib/rlp.ts'
import { signHash } from '../../src/lib/secp256k1.ts'

/** `to` is null when it creates a contract. */
export interface TransactionRequest {
  to: Hex | null
  data: Uint8Array
  gasLimit: number
}

export interface SigningOptions {
  chainId: number
  nonce: number
  maxFeePerGasWei: bigint
  maxPriorityFeePerGasWei: bigint
  privateKey: Hex
}

/** A signed EIP-1559 transaction without value and access list, as `eth_sendRawTransaction` takes it. */
export function signTransaction({ to, data, gasLimit }: TransactionRequest, options: SigningOptions): Hex {
  const { chainId, nonce, maxFeePerGasWei, maxPriorityFeePerGasWei, privateKey } = options
  const recipient = to === null ? EMPTY_BYTES : fromHex(to, 20)
  const fields = [chainId, nonce, maxPriorityFeePerGasWei, maxFeePerGasWei, gasLimit, recipient, 0, data, []]
  const type = Uint8Array.of(2)
  const { r, s, yParity } = signHash(keccak256(concatBytes(type, encodeRlp(fields))), fromHex(privateKey))
  return toHex(concatBytes(type, encodeRlp([...fields, yParity, minimal(r), minimal(s)])))
}

function minimal(word: Uint8Array): Uint8Array {
  return bigIntToMinimalBytes(BigInt(toHex(word)))
}
