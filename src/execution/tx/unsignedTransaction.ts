import { concatBytes, EMPTY_BYTES } from '../../lib/bytes.ts'
import { keccak256Hex } from '../../lib/hash.ts'
import { fromHex } from '../../lib/hex.ts'
import { encodeRlp, type RlpInput } from '../../lib/rlp.ts'
import type { Authorization, SignedTransaction } from '../chain/block.ts'

type Members = 'from' | 'to' | 'nonce' | 'gasLimit' | 'value' | 'data' | 'accessList'

/** What is known of a transaction that nobody signed. */
export interface UnsignedTransaction extends Pick<SignedTransaction, Members> {
  chainId: bigint
  /** Makes it a set-code transaction, unless it has one price. */
  authorizationList: readonly Authorization[] | undefined
  /** Wei for a unit of gas: one price for a legacy transaction, two for one of EIP-1559. */
  fees: { gasPrice: bigint } | { maxFeePerGas: bigint; maxPriorityFeePerGas: bigint }
}

/** As a transaction whose signature is zeros, which geth shows simulated ones as. */
export function withoutSignature({ fees, authorizationList, ...transaction }: UnsignedTransaction): SignedTransaction {
  const { chainId, nonce, gasLimit, to, value, data } = transaction
  const body: RlpInput[] = [gasLimit, to === null ? EMPTY_BYTES : fromHex(to), value, data]
  const signature = { v: 0n, r: 0n, s: 0n, yParity: 0 } as const
  if ('gasPrice' in fees) {
    const { gasPrice } = fees
    const raw = encodeRlp([nonce, gasPrice, ...body, 0, 0, 0])
    const prices = { maxFeePerGas: gasPrice, maxPriorityFeePerGas: gasPrice }
    return { type: 0, hash: keccak256Hex(raw), ...transaction, accessList: [], ...prices, ...signature, raw }
  }
  const accessList = transaction.accessList.map(({ address, storageKeys }) => [
    fromHex(address),
    storageKeys.map((key) => fromHex(key)),
  ])
  const prices = [fees.maxPriorityFeePerGas, fees.maxFeePerGas]
  const fields = [chainId, nonce, ...prices, ...body, accessList]
  if (authorizationList !== undefined) {
    const entries = authorizationList.map((entry) => {
      const { address, yParity, r, s } = entry
      return [entry.chainId, fromHex(address), entry.nonce, yParity, r, s]
    })
    const raw = concatBytes(Uint8Array.of(4), encodeRlp([...fields, entries, 0, 0, 0]))
    const members = { ...transaction, ...fees, ...signature, authorizationList: [...authorizationList] }
    return { type: 4, hash: keccak256Hex(raw), ...members, raw }
  }
  const raw = concatBytes(Uint8Array.of(2), encodeRlp([...fields, 0, 0, 0]))
  return { type: 2, hash: keccak256Hex(raw), ...transaction, ...fees, ...signature, raw }
}
