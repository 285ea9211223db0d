import { existsSync, readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { uncompressSync } from 'snappy'
import { describe, expect, it } from 'vitest'
import { concatBytes } from '../../src/lib/bytes.ts'
import { fromHex, type Hex, lowerHex, quantityToNumber, toHex } from '../../src/lib/hex.ts'
import { encodeRlp } from '../../src/lib/rlp.ts'
import { publicKeyToAddress, recoverCompact } from '../../src/lib/secp256k1.ts'
import {
  applySystemConfigUpdates,
  attributesFromJson,
  attributesToJson,
  blockHeaderFromJson,
  blockHeaderHash,
  computeOutputRoot,
  decodeBatch,
  decodeBlob,
  decodeDepositTx,
  decodeFrames,
  decodePayloadEnvelope,
  decodeSpanBatch,
  depositsFromReceipts,
  encodeDepositTx,
  encodeL1Info,
  encodePayloadEnvelope,
  encodeSingularBatch,
  encodeSpanBatch,
  isDepositTx,
  l1DataFee,
  l1FeeRulesAt,
  l1InfoDepositTx,
  l1InfoOfTransactions,
  nextBaseFee,
  openChannelBatches,
  orderedTrieRoot,
  parseRollupConfig,
  payloadBlockHash,
  payloadFromJson,
  payloadSigningHashOfBody,
  payloadToJson,
  payloadToL2BlockRef,
  payloadVersionAt,
  systemConfigFromPayload,
} from '../../src/rollup/protocol/index.ts'
import { encodeDecodedSpanBatch } from '../../src/rollup/protocol/testUtils/spanBatch.ts'
import type { L1BlockInfo, L1Receipt } from '../../src/rollup/protocol/types.ts'
import { loadRecording, type RecordingName } from '../support/recording.ts'

const RECORDINGS: RecordingName[] = [
  'granite-singular-zlib-calldata',
  'granite-span-zlib-blobs',
  'holocene-span-brotli-calldata',
]

interface LogJson {
  address: Hex
  topics: Hex[]
  data: Hex
  logIndex: Hex
}
interface ReceiptJson {
  type: Hex
  status: Hex
  cumulativeGasUsed: Hex
  logsBloom: Hex
  logs: LogJson[]
  transactionHash: Hex
  depositNonce?: Hex
  depositReceiptVersion?: Hex
  l1Fee?: Hex
  l1GasUsed?: Hex
}
interface RawRecording {
  l1: { receipts: ReceiptJson[] }[]
  l2: { transactionsRoot: Hex; receiptsRoot: Hex }[]
  l2Receipts: ReceiptJson[][]
  outputs: { outputRoot: Hex; stateRoot: Hex; withdrawalStorageRoot: Hex; blockRef: { hash: Hex } }[]
}

function readJson(path: string): unknown {
  const bytes = readFileSync(new URL(path, import.meta.url))
  return JSON.parse((path.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString())
}

describe.each(RECORDINGS)('recorded chain %s', (name) => {
  const { config, l1, l2 } = loadRecording(name)
  const raw = readJson(`data/op-node-${name}.json.gz`) as RawRecording
  const l1Blocks = l1.map((block): L1BlockInfo => {
    const { mixHash, baseFeePerGas = 0n, number, parentHash, timestamp, excessBlobGas } = blockHeaderFromJson(block)
    const info = { hash: block.hash, number, parentHash, timestamp, mixHash, baseFeePerGas }
    return excessBlobGas === undefined ? info : { ...info, excessBlobGas }
  })
  const l1Receipts = raw.l1.map(({ receipts }) => receipts.map(toL1Receipt))

  it('L1 headers encode to their hash', () => {
    for (const block of l1) expect(blockHeaderHash(blockHeaderFromJson(block))).toBe(block.hash)
  })

  it('payloads encode to their hash, and transactions to their root', () => {
    expect(l2.length).toBe(33)
    for (const [number, envelope] of l2.entries()) {
      expect(orderedTrieRoot(envelope.payload.transactions)).toBe(raw.l2[number]?.transactionsRoot)
      if (number > 0) expect(payloadBlockHash(envelope)).toBe(envelope.payload.blockHash)
    }
  })

  it('payloads survive SSZ and JSON', () => {
    for (const envelope of l2.slice(1)) {
      const version = payloadVersionAt(config, envelope.payload.timestamp)
      expect(decodePayloadEnvelope(encodePayloadEnvelope(envelope, version), version)).toEqual(envelope)
      expect(payloadFromJson(payloadToJson(envelope.payload), config)).toEqual(envelope.payload)
    }
  })

  it('receipts encode to their root', () => {
    for (const [number, receipts] of raw.l2Receipts.entries()) {
      expect(orderedTrieRoot(receipts.map(encodeReceipt))).toBe(raw.l2[number]?.receiptsRoot)
    }
  })

  it('L1-info deposits and user deposits can be derived from L1', () => {
    let userDeposits = 0
    for (const [number, { payload }] of l2.entries()) {
      const parent = l2[number - 1]
      if (parent === undefined) continue
      const parentRef = payloadToL2BlockRef(parent.payload, config)
      const { l1Origin, sequenceNumber } = payloadToL2BlockRef(payload, config)
      const origin = l1Blocks[l1Origin.number]
      const receipts = l1Receipts[l1Origin.number]
      if (origin === undefined || receipts === undefined) throw new Error(`no L1 block ${l1Origin.number}`)
      const isNewEpoch = l1Origin.number !== parentRef.l1Origin.number
      expect(sequenceNumber).toBe(isNewEpoch ? 0 : parentRef.sequenceNumber + 1)
      const before = systemConfigFromPayload(parent.payload, config)
      const system = isNewEpoch ? applySystemConfigUpdates(before, receipts, config, origin.timestamp) : before
      const expected = [l1InfoDepositTx(config, system, sequenceNumber, origin, payload.timestamp)]
      if (isNewEpoch) expected.push(...depositsFromReceipts(receipts, config.depositContractAddress, origin.hash))
      userDeposits += expected.length - 1
      const deposits = payload.transactions.filter(isDepositTx)
      expect(deposits.map(toHex)).toEqual(expected.map((tx) => toHex(encodeDepositTx(tx))))
    }
    expect(userDeposits).toBeGreaterThan(10)
  })

  it('base fees can be computed from the parent', () => {
    for (const [number, { payload }] of l2.entries()) {
      const parent = l2[number - 1]
      // The recorded genesis block has no base fee parameters in its header.
      if (parent === undefined || number === 1) continue
      expect(nextBaseFee(config, parent.payload, payload.timestamp)).toBe(payload.baseFeePerGas)
    }
  })

  it('computed L1 fees equal the receipts', () => {
    let count = 0
    for (const [number, { payload }] of l2.entries()) {
      if (payload.transactions.length < 2) continue
      const info = l1InfoOfTransactions(payload.transactions)
      const rules = l1FeeRulesAt(config, payload.timestamp, info)
      for (const [index, tx] of payload.transactions.entries()) {
        const receipt = raw.l2Receipts[number]?.[index]
        if (isDepositTx(tx) || receipt?.l1Fee === undefined || receipt.l1GasUsed === undefined) continue
        expect(l1DataFee(tx, rules, info)).toEqual({ fee: BigInt(receipt.l1Fee), gasUsed: BigInt(receipt.l1GasUsed) })
        count++
      }
    }
    expect(count).toBeGreaterThan(100)
  })

  it('output roots can be computed from their parts', () => {
    expect(raw.outputs.length).toBeGreaterThan(0)
    for (const { outputRoot, stateRoot, withdrawalStorageRoot, blockRef } of raw.outputs) {
      const parts = { stateRoot, messagePasserStorageRoot: withdrawalStorageRoot, blockHash: blockRef.hash }
      expect(computeOutputRoot(parts)).toBe(outputRoot)
    }
  })

  it('batches decode to the transactions of the blocks, and encode to the same bytes', async () => {
    const blocks = new Map(l2.map(({ payload }) => [payload.timestamp, payload]))
    const transactionsAt = (timestamp: number) =>
      blocks
        .get(timestamp)
        ?.transactions.filter((tx) => !isDepositTx(tx))
        .map(toHex)
    let seen = 0
    for (const data of batcherData()) {
      for (const bytes of await openChannelBatches(data, { fjord: true, maxRlpBytes: 100_000_000 })) {
        const batch = decodeBatch(bytes, config)
        const encoded = batch.type === 'span' ? encodeDecodedSpanBatch(batch, config) : encodeSingularBatch(batch)
        expect(toHex(encoded)).toBe(toHex(bytes))
        for (const element of batch.type === 'span' ? batch.elements : [batch]) {
          if (!blocks.has(element.timestamp)) continue
          expect(element.transactions.slice().map(toHex)).toEqual(transactionsAt(element.timestamp))
          seen++
        }
      }
    }
    expect(seen).toBeGreaterThan(15)
  })

  /** Data of the channels in the recorded L1 blocks. */
  function* batcherData(): Generator<Uint8Array> {
    const channels = new Map<Hex, Uint8Array[]>()
    for (const block of l1) {
      const calldata = block.transactions
        .filter((tx) => String(tx.to).toLowerCase() === config.batchInboxAddress && tx.type !== '0x3')
        .map((tx) => fromHex(String(tx.input)))
      const blobs = (block.blobs ?? []).map((blob) => decodeBlob(fromHex(blob)))
      for (const frame of [...calldata, ...blobs].flatMap(decodeFrames)) {
        const parts = channels.get(frame.channelId) ?? []
        parts[frame.number] = frame.data
        channels.set(frame.channelId, parts)
        if (frame.isLast) yield concatBytes(...parts)
      }
    }
  }
})

describe.each(['regolith', 'canyon', 'holocene'])('gossip messages recorded under %s', (fork) => {
  it('contain payloads with the right hash, signed by the sequencer', () => {
    const { chainId, signer, messages } = readJson(`data/gossip-op-node-${fork}.json`) as {
      chainId: number
      signer: Hex
      messages: { topic: string; data: Hex }[]
    }
    expect(messages.length).toBeGreaterThan(0)
    for (const { topic, data } of messages) {
      const version = Number(topic.split('/')[3]) + 1
      if (version !== 1 && version !== 2 && version !== 3) throw new Error(`topic ${topic}`)
      const message = new Uint8Array(uncompressSync(Buffer.from(fromHex(data)), { asBuffer: true }) as Buffer)
      const body = message.subarray(65)
      const envelope = decodePayloadEnvelope(body, version)
      expect(payloadBlockHash(envelope)).toBe(envelope.payload.blockHash)
      expect(toHex(encodePayloadEnvelope(envelope, version))).toBe(toHex(body))
      const hash = payloadSigningHashOfBody(BigInt(chainId), body)
      const publicKey = recoverCompact(hash, message.subarray(0, 64), message[64] ?? 0)
      expect(publicKeyToAddress(publicKey)).toBe(signer.toLowerCase())
    }
  })
})

const SEPOLIA_BLOCKS = ['26207960', '26207963', '26208858'].map((number) => {
  const path = `../../../shared/vectors/op-sepolia-block-${number}.json.gz`
  const isAbsent = !existsSync(new URL(path, import.meta.url))
  return { path, isAbsent, title: isAbsent ? `${number} (skipped: ../shared/vectors has no recording of it)` : number }
})
describe('OP Sepolia block', () => {
  for (const { path, isAbsent, title } of SEPOLIA_BLOCKS) {
    it.skipIf(isAbsent)(`${title}: attributes survive JSON, transactions a span batch`, () => {
      const { fixture } = readJson(path) as { fixture: { rollup_config: unknown; executing_payload: unknown } }
      const attributes = attributesFromJson(fixture.executing_payload)
      expect(attributesToJson(attributes)).toEqual({ noTxPool: false, ...Object(fixture.executing_payload) })
      const { transactions, timestamp } = attributes
      const info = l1InfoOfTransactions(transactions)
      expect(toHex(encodeL1Info(info))).toBe(toHex(decodeDepositTx(transactions[0] ?? new Uint8Array(0)).data))
      expect(info.batcherAddress).toBe('0x8f23bb38f531600e5d8fddaaec41f13fab46e98c')

      const config = parseRollupConfig(fixture.rollup_config)
      const others = transactions.filter((tx) => !isDepositTx(tx))
      expect(others.length).toBeGreaterThan(1)
      const { blockHash: epochHash, number: epochNumber, sequenceNumber } = info
      const block = { parentHash: epochHash, epochHash, epochNumber, sequenceNumber, timestamp, transactions: others }
      const [element] = decodeSpanBatch(encodeSpanBatch([block], config), config).elements
      expect(element?.transactions.map(toHex)).toEqual(others.map(toHex))
    })
  }
})

function toL1Receipt({ transactionHash, status, logs }: ReceiptJson): L1Receipt {
  return {
    transactionHash,
    status: status === '0x1',
    logs: logs.map(({ address, topics, data, logIndex }) => ({
      address: lowerHex(address),
      topics,
      data: fromHex(data),
      logIndex: quantityToNumber(logIndex),
    })),
  }
}

/** Consensus encoding of an L2 receipt from Canyon on. */
function encodeReceipt(receipt: ReceiptJson): Uint8Array {
  const logs = receipt.logs.map(({ address, topics, data }) => [
    fromHex(address),
    topics.map((topic) => fromHex(topic)),
    fromHex(data),
  ])
  const fields = [BigInt(receipt.status), BigInt(receipt.cumulativeGasUsed), fromHex(receipt.logsBloom), logs]
  const deposit = [receipt.depositNonce, receipt.depositReceiptVersion].flatMap((value) =>
    value === undefined ? [] : [BigInt(value)],
  )
  const type = quantityToNumber(receipt.type)
  const body = encodeRlp([...fields, ...deposit])
  return type === 0 ? body : concatBytes(Uint8Array.of(type), body)
}
