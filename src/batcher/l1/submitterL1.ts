import type { RpcCall } from '../../jsonRpc/client.ts'
import { JsonRpcError, type JsonValue, RPC_METHOD_NOT_FOUND } from '../../jsonRpc/types.ts'
import { type L1Endpoint, L1Error, parseBlock, type QueryL1, toL1BlockRef } from '../../l1/index.ts'
import { DeviumError } from '../../lib/errors.ts'
import { type Hex, quantityToBigInt, quantityToNumber, toHex, toQuantity } from '../../lib/hex.ts'
import { JsonObjectReader } from '../../lib/jsonReader.ts'
import type { FeeCaps, FeeSuggestion } from '../txmgr/fees.ts'

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

/** Cost of the transaction in wei, blobs included. */
export function feeOf({ gasUsed, effectiveGasPrice, blobGasUsed = 0n, blobGasPrice = 0n }: TxReceipt): bigint {
  return gasUsed * effectiveGasPrice + blobGasUsed * blobGasPrice
}

export interface CallRequest {
  from: Hex
  to: Hex
  data: Uint8Array
  gasLimit?: bigint
}

/** The L1 lacks a feature that the batcher needs. A retry does not help. */
export class L1UnsupportedError extends DeviumError<'l1-unsupported'> {
  override readonly name = 'L1UnsupportedError'
}

/** The L1 requests of the submitter and its transaction manager: fees, nonces, receipts, sending. */
export type SubmitterL1 = ReturnType<typeof createSubmitterL1>

/**
 * `timeoutMs` limits each request. Answers are decoded inside `query`, so a malformed answer counts as a failure of its
 * endpoint.
 */
export function createSubmitterL1(query: QueryL1<Pick<L1Endpoint, 'rpc'>>, timeoutMs: number) {
  const request = <T>(method: string, params: unknown[], read: (answer: unknown) => T, signal?: AbortSignal) =>
    query(async ({ rpc }) => read(await rpc.request(method, params, { signal, timeoutMs })))
  const batch = <T>(calls: RpcCall[], read: (answers: Answer[]) => T, signal?: AbortSignal) =>
    query(async ({ rpc }) => read(await rpc.batch(calls, { signal, timeoutMs })))
  const quantity = (method: string, params: unknown[], signal?: AbortSignal) =>
    request(method, params, (answer) => quantityToBigInt(answer, method), signal)

  return {
    chainId: (signal?: AbortSignal) => quantity('eth_chainId', [], signal),
    head: (signal?: AbortSignal) =>
      request('eth_getBlockByNumber', ['latest', false], (json) => toL1BlockRef(parseBlock(json, true).info), signal),
    /** Suggests tip, base fee and blob base fee. If `call` is given, it is executed too, and its error is thrown. */
    suggestFees(call: CallRequest | undefined, signal?: AbortSignal): Promise<FeeSuggestion> {
      const calls = [
        { method: 'eth_maxPriorityFeePerGas', params: [] },
        { method: 'eth_getBlockByNumber', params: ['latest', false] },
        { method: 'eth_blobBaseFee', params: [] },
        ...(call === undefined ? [] : [{ method: 'eth_call', params: [callToJson(call), 'latest'] }]),
      ]
      return batch(calls, readFees, signal)
    },
    /** `pending` also counts the transactions in the L1's pool that follow without a nonce gap. */
    nonceAt(address: Hex, block: 'latest' | 'pending' | number, signal?: AbortSignal): Promise<number> {
      const tag = typeof block === 'number' ? toQuantity(block) : block
      return request('eth_getTransactionCount', [address, tag], (answer) => quantityToNumber(answer, 'nonce'), signal)
    },
    estimateGas: (call: CallRequest, signal?: AbortSignal) => quantity('eth_estimateGas', [callToJson(call)], signal),
    balance: (address: Hex, signal?: AbortSignal) => quantity('eth_getBalance', [address, 'latest'], signal),
    transactionsOf(address: Hex, block: number, signal?: AbortSignal) {
      const read = (answer: unknown) => {
        // Another endpoint may have the block.
        if (answer === null) throw new L1Error('l1-not-found', `L1 block ${block} not found`)
        return transactionsIn(new JsonObjectReader(answer, 'L1 block'))
          .filter((tx) => tx.hex('from', 20) === address)
          .map((tx) => ({
            hash: tx.hex('hash', 32),
            to: tx.optionalHex('to', 20),
            nonce: tx.quantityNumber('nonce'),
          }))
      }
      return request('eth_getBlockByNumber', [toQuantity(block), true], read, signal)
    },
    /**
     * Tips paid by the blob transactions of these blocks, block by block. Wei per gas. Empty for a block that the L1
     * does not have.
     */
    blobTips(blocks: readonly number[], signal?: AbortSignal): Promise<bigint[][]> {
      const calls = blocks.map((block) => ({ method: 'eth_getBlockByNumber', params: [toQuantity(block), true] }))
      return batch(calls, (answers) => answers.map(readBlobTips), signal)
    },
    /**
     * Fees of the pool transaction with this nonce. Undefined if there is none, or if the L1 offers no method to find
     * it.
     */
    async pendingTx(address: Hex, nonce: number, signal?: AbortSignal): Promise<FeeCaps | undefined> {
      try {
        return await request('eth_getTransactionBySenderAndNonce', [address, toQuantity(nonce)], readPendingTx, signal)
      } catch (error) {
        if (!(error instanceof JsonRpcError)) throw error
      }
      // geth serves txpool_contentFrom instead.
      const read = (answer: unknown) =>
        readPendingTx(new JsonObjectReader(answer, 'txpool_contentFrom').object('pending').raw(String(nonce)))
      try {
        return await request('txpool_contentFrom', [address], read, signal)
      } catch (error) {
        if (error instanceof JsonRpcError) return undefined
        throw error
      }
    },
    sendRawTransaction: (raw: Uint8Array, signal?: AbortSignal): Promise<void> =>
      request('eth_sendRawTransaction', [toHex(raw)], () => {}, signal),
    /** Receipts in the order of the hashes (undefined: not mined), and the L1 head read with them. */
    receipts(hashes: readonly Hex[], signal?: AbortSignal) {
      const calls = hashes.map((hash) => ({ method: 'eth_getTransactionReceipt', params: [hash] }))
      // The head comes first in the batch, so that no receipt lies above it.
      return batch([{ method: 'eth_blockNumber', params: [] }, ...calls], readReceipts, signal)
    },
  }
}

type Answer = JsonValue | JsonRpcError

function orThrow(answer: Answer | undefined): JsonValue | undefined {
  if (answer instanceof JsonRpcError) throw answer
  return answer
}

function callToJson(call: CallRequest): object {
  return {
    from: call.from,
    to: call.to,
    ...(call.gasLimit === undefined ? {} : { gas: toQuantity(call.gasLimit) }),
    input: toHex(call.data),
  }
}

function readFees([tip, block, blobBaseFee, executed]: Answer[]): FeeSuggestion {
  orThrow(executed)
  const suggested = quantityToBigInt(orThrow(tip), 'eth_maxPriorityFeePerGas')
  const header = new JsonObjectReader(orThrow(block), 'latest L1 block')
  if (!header.has('baseFeePerGas')) {
    throw new L1UnsupportedError(
      'l1-unsupported',
      'txmgr does not support pre-london blocks that do not have a base fee',
    )
  }
  const lacksMethod = blobBaseFee instanceof JsonRpcError && blobBaseFee.rpcCode === RPC_METHOD_NOT_FOUND
  const hasBlobs = header.has('excessBlobGas') && !lacksMethod
  return {
    tip: suggested,
    baseFee: header.quantity('baseFeePerGas'),
    blockGasLimit: header.optionalQuantity('gasLimit'),
    isGlamsterdam: header.has('slotNumber'),
    blobBaseFee: hasBlobs ? quantityToBigInt(orThrow(blobBaseFee), 'eth_blobBaseFee') : undefined,
  }
}

function transactionsIn(block: JsonObjectReader): JsonObjectReader[] {
  return block.array('transactions').map((json) => new JsonObjectReader(json, 'L1 transaction'))
}

function readBlobTips(answer: Answer): bigint[] {
  const json = orThrow(answer)
  if (json === null) return []
  const block = new JsonObjectReader(json, 'L1 block')
  const baseFee = block.quantity('baseFeePerGas')
  return transactionsIn(block)
    .filter((tx) => tx.raw('type') === '0x3')
    .map((tx) => {
      const tip = tx.quantity('maxPriorityFeePerGas')
      const left = tx.quantity('maxFeePerGas') - baseFee
      return left < tip ? left : tip
    })
}

function readPendingTx(json: unknown): FeeCaps | undefined {
  if (json === null || json === undefined) return undefined
  const tx = new JsonObjectReader(json, 'pool transaction')
  const blobFeeCap = tx.optionalQuantity('maxFeePerBlobGas')
  return {
    tip: tx.optionalQuantity('maxPriorityFeePerGas') ?? tx.quantity('gasPrice'),
    feeCap: tx.optionalQuantity('maxFeePerGas') ?? tx.quantity('gasPrice'),
    ...(blobFeeCap === undefined ? {} : { blobFeeCap }),
  }
}

function readReceipts([head, ...answers]: Answer[]): { head: number; receipts: (TxReceipt | undefined)[] } {
  return {
    head: quantityToNumber(orThrow(head), 'eth_blockNumber'),
    receipts: answers.map((answer) => {
      const json = orThrow(answer)
      return json === null ? undefined : readReceipt(json)
    }),
  }
}

function readReceipt(json: unknown): TxReceipt {
  const receipt = new JsonObjectReader(json, 'receipt')
  const blobGasUsed = receipt.optionalQuantity('blobGasUsed')
  const blobGasPrice = receipt.optionalQuantity('blobGasPrice')
  return {
    transactionHash: receipt.hex('transactionHash', 32),
    blockHash: receipt.hex('blockHash', 32),
    blockNumber: receipt.quantityNumber('blockNumber'),
    gasUsed: receipt.quantity('gasUsed'),
    effectiveGasPrice: receipt.optionalQuantity('effectiveGasPrice') ?? 0n,
    ...(blobGasUsed === undefined ? {} : { blobGasUsed }),
    ...(blobGasPrice === undefined ? {} : { blobGasPrice }),
  }
}
