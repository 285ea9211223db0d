import type { RpcClient } from '../../jsonRpc/client.ts'
import { JsonRpcError } from '../../jsonRpc/types.ts'
import { DecodeError, DeviumError } from '../../lib/errors.ts'
import { type Hex, normalizeHex, quantityToBigInt, quantityToNumber, toHex, toQuantity } from '../../lib/hex.ts'
import { asObject } from '../../lib/jsonReader.ts'
import type { L1BlockRef } from '../../rollup/protocol/types.ts'
import type { FeeCaps, FeeSuggestion } from '../txmgr/fees.ts'

/** Where a transaction was included. */
export interface TxReceipt {
  transactionHash: Hex
  blockHash: Hex
  blockNumber: number
  gasUsed: bigint
  /** Wei per gas. */
  effectiveGasPrice: bigint
  /** Blob transactions only. */
  blobGasUsed?: bigint
  /** Wei per blob gas. */
  blobGasPrice?: bigint
}

/** What the transaction cost, with its blobs. Wei. */
export function feeOf({ gasUsed, effectiveGasPrice, blobGasUsed = 0n, blobGasPrice = 0n }: TxReceipt): bigint {
  return gasUsed * effectiveGasPrice + blobGasUsed * blobGasPrice
}

/** What a transaction would be executed with; for `eth_call` and `eth_estimateGas`. */
export interface CallRequest {
  from: Hex
  to: Hex
  data: Uint8Array
  gasLimit?: bigint
}

/** The L1 as batcher and transaction manager need it. */
export interface L1Endpoint {
  chainId(signal?: AbortSignal): Promise<bigint>
  head(signal?: AbortSignal): Promise<L1BlockRef>
  /** Tip, base fee and blob base fee as the L1 gives them, and the outcome of executing `call` when one is given. */
  suggestFees(call: CallRequest | undefined, signal?: AbortSignal): Promise<FeeSuggestion>
  /** `pending`: with the transactions of the L1's pool that follow one another without a gap. */
  nonceAt(address: Hex, block: 'latest' | 'pending' | number, signal?: AbortSignal): Promise<number>
  estimateGas(call: CallRequest, signal?: AbortSignal): Promise<bigint>
  balance(address: Hex, signal?: AbortSignal): Promise<bigint>
  /** The account's transactions in a block. */
  transactionsOf(
    address: Hex,
    block: number,
    signal?: AbortSignal,
  ): Promise<{ hash: Hex; to: Hex | undefined; nonce: number }[]>
  /** What blob transactions of these blocks tipped, block by block; blocks that the L1 does not have are empty. Wei per gas. */
  blobTips(blocks: readonly number[], signal?: AbortSignal): Promise<bigint[][]>
  /** Fees of the transaction that stands in the L1's pool with this nonce; undefined: none, or the L1 does not tell. */
  pendingTx(address: Hex, nonce: number, signal?: AbortSignal): Promise<FeeCaps | undefined>
  sendRawTransaction(raw: Uint8Array, signal?: AbortSignal): Promise<void>
  /** Receipts in the order of the hashes (undefined: not mined) and the head they were read at. */
  receipts(hashes: readonly Hex[], signal?: AbortSignal): Promise<{ head: number; receipts: (TxReceipt | undefined)[] }>
}

/** The L1 can do less than the batcher needs: no use in trying again. */
export class L1UnsupportedError extends DeviumError<'l1-unsupported'> {
  override readonly name = 'L1UnsupportedError'
}

/** Every request is bounded by `timeoutMs`. */
export function createL1Endpoint(rpc: Pick<RpcClient, 'request' | 'batch'>, timeoutMs: number): L1Endpoint {
  const request = (method: string, params: readonly unknown[], signal?: AbortSignal) =>
    rpc.request(method, params, { signal, timeoutMs })

  return {
    chainId: async (signal) => quantityToBigInt(await request('eth_chainId', [], signal), 'eth_chainId'),
    async head(signal) {
      const header = asObject(await request('eth_getBlockByNumber', ['latest', false], signal), 'latest L1 block')
      return {
        hash: normalizeHex(header.hash, 32, 'L1 block hash'),
        number: quantityToNumber(header.number, 'L1 block number'),
        parentHash: normalizeHex(header.parentHash, 32, 'L1 block parentHash'),
        timestamp: quantityToNumber(header.timestamp, 'L1 block timestamp'),
      }
    },
    async suggestFees(call, signal) {
      const calls = [
        { method: 'eth_maxPriorityFeePerGas', params: [] },
        { method: 'eth_getBlockByNumber', params: ['latest', false] },
        { method: 'eth_blobBaseFee', params: [] },
        ...(call === undefined ? [] : [{ method: 'eth_call', params: [callToJson(call), 'latest'] }]),
      ]
      const [tip, block, blobBaseFee, executed] = await rpc.batch(calls, { signal, timeoutMs })
      for (const answer of [tip, block, executed]) if (answer instanceof JsonRpcError) throw answer
      const header = asObject(block, 'latest L1 block')
      if (header.baseFeePerGas === undefined || header.baseFeePerGas === null) {
        throw new L1UnsupportedError(
          'l1-unsupported',
          'txmgr does not support pre-london blocks that do not have a base fee',
        )
      }
      return {
        tip: quantityToBigInt(tip, 'eth_maxPriorityFeePerGas'),
        baseFee: quantityToBigInt(header.baseFeePerGas, 'L1 base fee'),
        blockGasLimit: isQuantity(header.gasLimit) ? BigInt(header.gasLimit) : undefined,
        isGlamsterdam: header.slotNumber !== undefined && header.slotNumber !== null,
        // An L1 without blobs does not know the method.
        blobBaseFee: blobBaseFee instanceof JsonRpcError ? undefined : quantityToBigInt(blobBaseFee, 'eth_blobBaseFee'),
      }
    },
    async nonceAt(address, block, signal) {
      const tag = typeof block === 'number' ? toQuantity(block) : block
      return quantityToNumber(await request('eth_getTransactionCount', [address, tag], signal), 'nonce')
    },
    estimateGas: async (call, signal) =>
      quantityToBigInt(await request('eth_estimateGas', [callToJson(call)], signal), 'eth_estimateGas'),
    balance: async (address, signal) =>
      quantityToBigInt(await request('eth_getBalance', [address, 'latest'], signal), 'eth_getBalance'),
    async transactionsOf(address, number, signal) {
      const block = asObject(await request('eth_getBlockByNumber', [toQuantity(number), true], signal), 'L1 block')
      if (!Array.isArray(block.transactions)) throw new DecodeError('L1 block: no list of transactions')
      return block.transactions
        .map((json) => asObject(json, 'L1 transaction'))
        .filter((tx) => normalizeHex(tx.from, 20, 'L1 transaction from') === address)
        .map((tx) => ({
          hash: normalizeHex(tx.hash, 32, 'L1 transaction hash'),
          to: tx.to === null || tx.to === undefined ? undefined : normalizeHex(tx.to, 20, 'L1 transaction to'),
          nonce: quantityToNumber(tx.nonce, 'L1 transaction nonce'),
        }))
    },
    async blobTips(blocks, signal) {
      const calls = blocks.map((block) => ({ method: 'eth_getBlockByNumber', params: [toQuantity(block), true] }))
      const answers = await rpc.batch(calls, { signal, timeoutMs })
      return answers.map((answer) => {
        if (answer instanceof JsonRpcError) throw answer
        if (answer === null) return []
        const block = asObject(answer, 'L1 block')
        if (!Array.isArray(block.transactions)) throw new DecodeError('L1 block: no list of transactions')
        const baseFee = quantityToBigInt(block.baseFeePerGas, 'L1 base fee')
        return block.transactions
          .map((json) => asObject(json, 'L1 transaction'))
          .filter(({ type }) => type === '0x3')
          .map(({ maxPriorityFeePerGas, maxFeePerGas }) => {
            const tip = quantityToBigInt(maxPriorityFeePerGas, 'L1 transaction tip')
            const left = quantityToBigInt(maxFeePerGas, 'L1 transaction fee cap') - baseFee
            return left < tip ? left : tip
          })
      })
    },
    async pendingTx(address, nonce, signal) {
      try {
        const tx = await request('eth_getTransactionBySenderAndNonce', [address, toQuantity(nonce)], signal)
        return tx === null ? undefined : pendingTxFromJson(tx)
      } catch (error) {
        if (!(error instanceof JsonRpcError)) throw error
      }
      // geth has another method for it.
      try {
        const content = asObject(await request('txpool_contentFrom', [address], signal), 'txpool_contentFrom')
        const tx = asObject(content.pending, 'pending transactions')[String(nonce)]
        return tx === undefined ? undefined : pendingTxFromJson(tx)
      } catch (error) {
        if (error instanceof JsonRpcError) return undefined
        throw error
      }
    },
    async sendRawTransaction(raw, signal) {
      await request('eth_sendRawTransaction', [toHex(raw)], signal)
    },
    async receipts(hashes, signal) {
      const calls = hashes.map((hash) => ({ method: 'eth_getTransactionReceipt', params: [hash] }))
      // The head is asked first: a receipt can then never seem to be above it.
      const [head, ...answers] = await rpc.batch([{ method: 'eth_blockNumber', params: [] }, ...calls], {
        signal,
        timeoutMs,
      })
      if (head instanceof JsonRpcError) throw head
      return {
        head: quantityToNumber(head, 'eth_blockNumber'),
        receipts: answers.map((answer) => {
          if (answer instanceof JsonRpcError) throw answer
          return answer === null ? undefined : receiptFromJson(answer)
        }),
      }
    },
  }
}

function callToJson(call: CallRequest): object {
  return {
    from: call.from,
    to: call.to,
    ...(call.gasLimit === undefined ? {} : { gas: toQuantity(call.gasLimit) }),
    input: toHex(call.data),
  }
}

function pendingTxFromJson(json: unknown): FeeCaps | undefined {
  const tx = asObject(json, 'pool transaction')
  const { gasPrice, maxPriorityFeePerGas = gasPrice, maxFeePerGas = gasPrice, maxFeePerBlobGas } = tx
  return {
    tip: quantityToBigInt(maxPriorityFeePerGas, 'pool transaction tip'),
    feeCap: quantityToBigInt(maxFeePerGas, 'pool transaction fee cap'),
    ...(isQuantity(maxFeePerBlobGas) ? { blobFeeCap: BigInt(maxFeePerBlobGas) } : {}),
  }
}

function receiptFromJson(json: unknown): TxReceipt {
  const receipt = asObject(json, 'receipt')
  return {
    transactionHash: normalizeHex(receipt.transactionHash, 32, 'receipt transactionHash'),
    blockHash: normalizeHex(receipt.blockHash, 32, 'receipt blockHash'),
    blockNumber: quantityToNumber(receipt.blockNumber, 'receipt blockNumber'),
    gasUsed: quantityToBigInt(receipt.gasUsed, 'receipt gasUsed'),
    effectiveGasPrice: quantityToBigInt(receipt.effectiveGasPrice ?? '0x0', 'receipt effectiveGasPrice'),
    ...(isQuantity(receipt.blobGasUsed) ? { blobGasUsed: BigInt(receipt.blobGasUsed) } : {}),
    ...(isQuantity(receipt.blobGasPrice) ? { blobGasPrice: BigInt(receipt.blobGasPrice) } : {}),
  }
}

function isQuantity(value: unknown): value is string {
  return typeof value === 'string' && /^0x[0-9a-f]{1,32}$/i.test(value)
}
