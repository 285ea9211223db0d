import { fromHex, type Hex, toHex } from '../../src/lib/hex.ts'
import { signHash } from '../../src/lib/secp256k1.ts'
import { encodeSigned, signingHash, type UnsignedTransaction } from '../../src/rollup/protocol/index.ts'

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
  const { chainId, nonce, maxFeePerGasWei: maxFeePerGas, maxPriorityFeePerGasWei: maxPriorityFeePerGas } = options
  const tx: UnsignedTransaction = {
    ...{ type: 2, chainId: BigInt(chainId), nonce, maxFeePerGas, maxPriorityFeePerGas },
    ...{ gasLimit: BigInt(gasLimit), to, value: 0n, data, accessList: [] },
  }
  return toHex(encodeSigned(tx, signHash(signingHash(tx), fromHex(options.privateKey))))
}
