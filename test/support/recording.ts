import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import type { RpcClient } from '../../src/jsonRpc/client.ts'
import { JsonRpcError, type JsonValue, RPC_METHOD_NOT_FOUND } from '../../src/jsonRpc/types.ts'
import { fromHex, type Hex, quantityToNumber } from '../../src/lib/hex.ts'
import {
  blockHeaderFromJson,
  decodeDepositTx,
  encodeDepositTx,
  parseRollupConfig,
  payloadToL2BlockRef,
  systemConfigFromPayload,
} from '../../src/rollup/protocol/index.ts'
import type { L2BlockRef, PayloadEnvelope, RollupConfig, SystemConfig } from '../../src/rollup/protocol/types.ts'

// Chains recorded from op-node, op-batcher and op-geth on an Anvil L1, or on go-ethereum (`2026-glamsterdam-l1`).

export type RecordingName =
  | 'granite-singular-zlib-calldata'
  | 'granite-span-zlib-blobs'
  | 'holocene-span-brotli-calldata'
  | '2026-holocene-isthmus-jovian-calldata'
  | '2026-holocene-to-karst-blobs'
  | '2026-glamsterdam-l1'

/** A transaction, receipt or block in JSON-RPC form. */
type Json = { [key: string]: JsonValue }

export interface Recording {
  config: RollupConfig
  l1: (Json & { hash: Hex; number: Hex; transactions: Json[]; receipts: Json[]; blobs?: Hex[] })[]
  l2: PayloadEnvelope[]
  /** The safe head after each L1 block, by SafeDB. It stays at genesis in the recording with blobs. */
  safeHeadAtL1: { l1Block: { number: number; hash: Hex }; safeHead: { number: number; hash: Hex } }[]
  /** Recorded answers of eth_getProof, by L1 block number: the unsafe block signer's slot of the SystemConfig. */
  l1Proofs: Record<string, Json & { address: Hex; storageProof: { key: Hex; value: Hex }[] }>
}

interface RawRecording {
  rollup: unknown
  genesis: Json
  l1: Recording['l1']
  l2: (Json & { hash: Hex; transactions: Json[] })[]
  l2RawTransactions: (Hex | null)[][]
  safeHeadAtL1: Recording['safeHeadAtL1']
  l1Proofs?: Recording['l1Proofs']
}

function loadRaw(name: RecordingName): RawRecording {
  const url = new URL(`../vectors/data/op-node-${name}.json.gz`, import.meta.url)
  return JSON.parse(gunzipSync(readFileSync(url)).toString())
}

/** geth's genesis file of the recorded chain. */
export function loadGenesis(name: RecordingName): Json {
  return loadRaw(name).genesis
}

export function loadRecording(name: RecordingName): Recording {
  const raw = loadRaw(name)
  return {
    config: parseRollupConfig(raw.rollup),
    l1: raw.l1,
    l2: raw.l2.map((block, index) => payloadFromBlock(block, raw.l2RawTransactions[index] ?? [])),
    safeHeadAtL1: raw.safeHeadAtL1,
    l1Proofs: raw.l1Proofs ?? {},
  }
}

/** An L1 endpoint that serves the recording, up to block `head()`. */
export function recordedL1Rpc(
  recording: Pick<Recording, 'config' | 'l1'> & Partial<Pick<Recording, 'l1Proofs'>>,
  head: () => number = () => recording.l1.length - 1,
) {
  const known = (hash: unknown) => recording.l1.find((block) => block.hash === hash && numberOf(block) <= head())
  const answer = (method: string, [id, full, blockHash]: readonly unknown[]): JsonValue => {
    switch (method) {
      case 'eth_chainId':
        return `0x${recording.config.l1ChainId.toString(16)}`
      case 'eth_getBlockByHash':
        return toBlock(known(id), full === true)
      case 'eth_getBlockByNumber': {
        const number = id === 'latest' ? head() : quantityToNumber(id)
        return toBlock(number <= head() ? recording.l1[number] : undefined, full === true)
      }
      case 'eth_getBlockReceipts':
        return known(id)?.receipts ?? null
      case 'eth_getProof':
        return recording.l1Proofs?.[String(recording.l1.findIndex((block) => block.hash === blockHash))] ?? null
      case 'eth_getTransactionReceipt':
        return recording.l1.flatMap((block) => block.receipts).find((item) => item.transactionHash === id) ?? null
      default:
        throw new JsonRpcError(RPC_METHOD_NOT_FOUND, `the method ${method} does not exist/is not available`)
    }
  }
  const rpc: Pick<RpcClient, 'request' | 'batch'> = {
    request: async (method, params) => structuredClone(answer(method, params)),
    batch: async (calls) => calls.map(({ method, params }) => answer(method, params)),
  }
  return rpc
}

function numberOf(block: { number: Hex }): number {
  return quantityToNumber(block.number)
}

function toBlock(block: Recording['l1'][number] | undefined, full: boolean): JsonValue {
  if (block === undefined) return null
  const { receipts: _, blobs: __, transactions, ...rest } = block
  const shown: JsonValue[] = full ? transactions : transactions.map((transaction) => transaction.hash ?? null)
  return { ...rest, transactions: shown }
}

/** The recorded L2 chain as derivation reads it. `upTo` hides blocks that are not derived yet. */
export function recordedL2Source(recording: Recording, upTo: () => number = () => recording.l2.length - 1) {
  const { config, l2 } = recording
  const at = (number: number) => (number <= upTo() ? l2[number] : undefined)
  const byHash = (hash: Hex) => {
    const index = l2.findIndex(({ payload }) => payload.blockHash === hash)
    return index < 0 ? undefined : at(index)
  }
  const toRef = (envelope: PayloadEnvelope | undefined): L2BlockRef | undefined =>
    envelope === undefined ? undefined : payloadToL2BlockRef(envelope.payload, config)
  return {
    blockRefByHash: async (hash: Hex) => toRef(byHash(hash)),
    blockRefByNumber: async (number: number) => toRef(at(number)),
    payloadByNumber: async (number: number) => at(number),
    async systemConfigByL2Hash(hash: Hex): Promise<SystemConfig> {
      const envelope = byHash(hash)
      if (envelope === undefined) throw new Error(`L2 block ${hash} not found`)
      return systemConfigFromPayload(envelope.payload, config)
    },
  }
}

function payloadFromBlock(block: RawRecording['l2'][number], raw: (Hex | null)[]): PayloadEnvelope {
  const header = blockHeaderFromJson(block)
  const transactions = block.transactions.map((transaction, index) => {
    const bytes = raw[index]
    return typeof bytes === 'string' ? fromHex(bytes) : depositFromJson(transaction)
  })
  const envelope: PayloadEnvelope = {
    payload: {
      parentHash: header.parentHash,
      feeRecipient: header.coinbase,
      stateRoot: header.stateRoot,
      receiptsRoot: header.receiptsRoot,
      logsBloom: header.logsBloom,
      prevRandao: header.mixHash,
      blockNumber: header.number,
      gasLimit: header.gasLimit,
      gasUsed: header.gasUsed,
      timestamp: header.timestamp,
      extraData: header.extraData,
      baseFeePerGas: header.baseFeePerGas ?? 0n,
      blockHash: block.hash,
      transactions,
      withdrawals: [],
      blobGasUsed: header.blobGasUsed ?? 0n,
      excessBlobGas: header.excessBlobGas ?? 0n,
    },
  }
  // Before Isthmus this header field is the root of the withdrawals, which are empty.
  if (header.withdrawalsRoot !== undefined && header.requestsHash !== undefined) {
    envelope.payload.withdrawalsRoot = header.withdrawalsRoot
  }
  if (header.parentBeaconBlockRoot !== undefined) envelope.parentBeaconBlockRoot = header.parentBeaconBlockRoot
  return envelope
}

function depositFromJson(json: Json): Uint8Array {
  const text = (name: string) => String(json[name])
  const encoded = encodeDepositTx({
    sourceHash: text('sourceHash') as Hex,
    from: text('from') as Hex,
    to: json.to === null || json.to === undefined ? null : (text('to') as Hex),
    mint: BigInt(text('mint')),
    value: BigInt(text('value')),
    gas: BigInt(text('gas')),
    isSystemTx: json.isSystemTx === true,
    data: fromHex(text('input')),
  })
  decodeDepositTx(encoded)
  return encoded
}
