import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import type { JsonValue } from '../../jsonRpc/types.ts'
import { fromHex, type Hex, quantityToBigInt, quantityToNumber } from '../../lib/hex.ts'
import { blockHeaderFromJson, decodeTransaction, transactionFromJson } from '../../rollup/protocol/index.ts'
import type { Block, L1FeeFields, Receipt, Transaction } from '../primitives/block.ts'

type Json = Record<string, JsonValue>

/** Answers of op-geth's RPC, recorded with a chain. */
export interface RecordedRpc {
  genesis: Json
  rollup: Json
  blocks: (Json & { hash: Hex; transactions: Json[] })[]
  receipts: Json[][]
  rawTransactions: (Hex | null)[][]
}

export const RECORDINGS = [
  'granite-singular-zlib-calldata',
  'granite-span-zlib-blobs',
  'holocene-span-brotli-calldata',
  '2026-holocene-isthmus-jovian-calldata',
  '2026-holocene-to-karst-blobs',
]

/** op-geth's answer. `blockTimestamp`, which geth has since 1.16, is added if an older version was recorded. */
export function loadRecordedRpc(name: string): RecordedRpc {
  const url = new URL(`../../../test/vectors/data/op-node-${name}.json.gz`, import.meta.url)
  const { genesis, rollup, l2, l2Receipts, l2RawTransactions } = JSON.parse(gunzipSync(readFileSync(url)).toString())
  const blocks: RecordedRpc['blocks'] = l2
  const receipts: RecordedRpc['receipts'] = l2Receipts
  for (const [number, { timestamp = null, transactions }] of blocks.entries()) {
    for (const json of transactions) json.blockTimestamp ??= timestamp
    for (const { logs } of receipts[number] ?? []) for (const log of logs as Json[]) log.blockTimestamp ??= timestamp
  }
  return { genesis, rollup, blocks, receipts, rawTransactions: l2RawTransactions }
}

/** EIP-2718 encodings of a recorded block. Deposits are rebuilt from their JSON. */
export function recordedTransactions(recording: RecordedRpc, number: number): Uint8Array[] {
  const { transactions = [] } = recording.blocks[number] ?? {}
  return transactions.map((json, index) => {
    const raw = recording.rawTransactions[number]?.[index]
    return typeof raw === 'string' ? fromHex(raw) : transactionFromJson(json)
  })
}

/** The recorded block as the chain returns it. */
export function recordedBlock(recording: RecordedRpc, number: number): Block {
  const json = recording.blocks[number]
  if (json === undefined) throw new Error(`block ${number} is not in the recording`)
  const { baseFeePerGas = 0n, ...header } = blockHeaderFromJson(json)
  const transactions: Transaction[] = recordedTransactions(recording, number).map((raw) => decodeTransaction(raw))
  return {
    header: { hash: json.hash, ...header, baseFeePerGas },
    transactions,
    sizeBytes: quantityToNumber(json.size),
  }
}

export function receiptFromJson(json: Json): Receipt {
  const big = (name: string) => quantityToBigInt(json[name], name)
  const integer = (name: string) => quantityToNumber(json[name], name)
  const logs = json.logs as Json[]
  const receipt: Receipt = {
    type: integer('type'),
    status: integer('status') === 1 ? 1 : 0,
    cumulativeGasUsed: big('cumulativeGasUsed'),
    gasUsed: big('gasUsed'),
    logsBloom: hex(json.logsBloom),
    logs: logs.map((log) => ({
      address: hex(log.address),
      topics: log.topics as Hex[],
      data: fromHex(hex(log.data)),
      logIndex: quantityToNumber(log.logIndex),
    })),
    transactionHash: hex(json.transactionHash),
    transactionIndex: integer('transactionIndex'),
    blockHash: hex(json.blockHash),
    blockNumber: integer('blockNumber'),
    from: hex(json.from),
    to: json.to === null ? null : hex(json.to),
    contractAddress: json.contractAddress === null ? null : hex(json.contractAddress),
    effectiveGasPrice: big('effectiveGasPrice'),
  }
  if (json.depositNonce !== undefined) receipt.depositNonce = integer('depositNonce')
  if (json.depositReceiptVersion !== undefined) receipt.depositReceiptVersion = integer('depositReceiptVersion')
  if (json.l1Fee !== undefined) {
    const l1Fee: L1FeeFields = { l1GasPrice: big('l1GasPrice'), l1GasUsed: big('l1GasUsed'), l1Fee: big('l1Fee') }
    if (json.l1BlobBaseFee !== undefined) l1Fee.l1BlobBaseFee = big('l1BlobBaseFee')
    if (json.l1BaseFeeScalar !== undefined) l1Fee.l1BaseFeeScalar = big('l1BaseFeeScalar')
    if (json.l1BlobBaseFeeScalar !== undefined) l1Fee.l1BlobBaseFeeScalar = big('l1BlobBaseFeeScalar')
    if (json.operatorFeeScalar !== undefined) l1Fee.operatorFeeScalar = big('operatorFeeScalar')
    if (json.operatorFeeConstant !== undefined) l1Fee.operatorFeeConstant = big('operatorFeeConstant')
    if (json.daFootprintGasScalar !== undefined) l1Fee.daFootprintGasScalar = big('daFootprintGasScalar')
    if (json.blobGasUsed !== undefined) l1Fee.daFootprint = big('blobGasUsed')
    receipt.l1Fee = l1Fee
  }
  return receipt
}

function hex(value: unknown): Hex {
  if (typeof value !== 'string' || !value.startsWith('0x')) throw new Error(`not hex: ${String(value)}`)
  return value as Hex
}
