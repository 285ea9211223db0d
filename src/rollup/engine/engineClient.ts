import type { RpcClient } from '../../jsonRpc/client.ts'
import { JsonRpcError, RPC_METHOD_NOT_FOUND } from '../../jsonRpc/types.ts'
import type { CacheWatch } from '../../lib/cacheMetrics.ts'
import { DecodeError } from '../../lib/errors.ts'
import { type Hex, normalizeHex, quantityToBigInt, toQuantity } from '../../lib/hex.ts'
import { asObject, JsonObjectReader } from '../../lib/jsonReader.ts'
import { LruMap } from '../../lib/lruMap.ts'
import {
  type AccountProof,
  accountProofFromJson,
  attributesToJson,
  isForkActive,
  payloadEnvelopeFromJson,
  payloadFromRpcBlock,
  payloadToJson,
  payloadToL2BlockRef,
  systemConfigFromPayload,
} from '../protocol/index.ts'
import type { L2BlockRef, PayloadAttributes, PayloadEnvelope, RollupConfig, SystemConfig } from '../protocol/types.ts'
import type {
  Engine,
  ForkchoiceResult,
  ForkchoiceState,
  L2BlockLabel,
  PayloadStatus,
  PayloadStatusKind,
} from './types.ts'

export interface EngineClient extends Engine {
  payloadByHash(hash: Hex): Promise<PayloadEnvelope | undefined>
  /** The SystemConfig after the block. Rejects if the engine neither has nor has built the block. */
  systemConfigByL2Hash(hash: Hex): Promise<SystemConfig>
  /** eth_getProof, not verified. */
  proof(address: Hex, slots: readonly Hex[], blockHash: Hex): Promise<AccountProof>
  chainId(): Promise<bigint>
  /** eth_syncing: the progress of the engine's own sync; undefined if it is not syncing. */
  ownSync(): Promise<OwnSync | undefined>
  /**
   * Sets whether blocks that the engine builds refund gas since Lagoon. Returns false if the engine has no such method.
   */
  setSdmOptIn(optIn: boolean): Promise<boolean>
}

/** Block numbers reported by the engine: the last block that it has, and the highest known block. */
export interface OwnSync {
  current: number
  highest: number
}

export interface EngineClientOptions {
  /** op-node's `l2.engine-rpc-timeout`. */
  timeoutMs?: number
  /** Called with each cache, for metrics. */
  watchCache?: CacheWatch
}

/** Number of cached blocks: a recently inserted block is read again when its batch arrives from L1. */
const CACHED_BLOCKS = 512
const DEFAULT_TIMEOUT_MS = 10_000

/** Engine API and eth reads over one authenticated endpoint. */
export function createEngineClient(
  modules: { rpc: RpcClient },
  config: RollupConfig,
  options: EngineClientOptions = {},
): EngineClient {
  const { rpc } = modules
  const timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS
  const payloads = new LruMap<Hex, PayloadEnvelope>(CACHED_BLOCKS)
  const refs = new LruMap<Hex, L2BlockRef>(CACHED_BLOCKS)
  options.watchCache?.('payloads', payloads)
  options.watchCache?.('blockrefs', refs)
  const isIsthmus = (timestamp: number) => isForkActive(config, 'isthmus', timestamp)
  const isEcotone = (timestamp: number) => isForkActive(config, 'ecotone', timestamp)

  const request = (method: string, params: readonly unknown[]) => rpc.request(method, params, { timeoutMs })

  const remember = (envelope: PayloadEnvelope): PayloadEnvelope => {
    payloads.set(envelope.payload.blockHash, envelope)
    return envelope
  }

  const toRef = (envelope: PayloadEnvelope): L2BlockRef => {
    const known = refs.get(envelope.payload.blockHash)
    if (known !== undefined) return known
    const ref = payloadToL2BlockRef(envelope.payload, config)
    refs.set(ref.hash, ref)
    return ref
  }

  const readBlock = async (method: string, param: string): Promise<PayloadEnvelope | undefined> => {
    try {
      const block = await request(method, [param, true])
      return block === null || block === undefined ? undefined : remember(payloadFromRpcBlock(block, isIsthmus))
    } catch (error) {
      // geth returns this error for a label that is not set, for example `finalized` on a new chain.
      if (error instanceof JsonRpcError && /not found|unknown block/i.test(error.message)) return undefined
      throw error
    }
  }

  const payloadByHash = async (hash: Hex) => payloads.get(hash) ?? readBlock('eth_getBlockByHash', hash)
  const payloadByNumber = (number: number) => readBlock('eth_getBlockByNumber', toQuantity(number))

  const forkchoiceUpdated = async (
    state: ForkchoiceState,
    attributes?: PayloadAttributes,
  ): Promise<ForkchoiceResult> => {
    const json = attributes === undefined ? null : attributesToJson(attributes)
    return forkchoiceResultFromJson(await request(forkchoiceMethod(attributes), [state, json]))
  }

  const newPayload = async (envelope: PayloadEnvelope): Promise<PayloadStatus> => {
    const { payload, parentBeaconBlockRoot } = envelope
    const json = payloadToJson(payload)
    const answer = isIsthmus(payload.timestamp)
      ? await request('engine_newPayloadV4', [json, [], parentBeaconBlockRoot, []])
      : isEcotone(payload.timestamp)
        ? await request('engine_newPayloadV3', [json, [], parentBeaconBlockRoot])
        : await request('engine_newPayloadV2', [json])
    const status = payloadStatusFromJson(answer)
    if (status.status === 'VALID') remember(envelope)
    else payloads.delete(payload.blockHash)
    return status
  }

  return {
    forkchoiceUpdated,
    newPayload,

    async getPayload(id, timestamp) {
      return remember(payloadEnvelopeFromJson(await request(getPayloadMethod(timestamp), [id])))
    },

    payloadByHash,
    payloadByNumber,

    async blockRefByHash(hash) {
      const known = refs.get(hash)
      if (known !== undefined) return known
      const envelope = await payloadByHash(hash)
      return envelope && toRef(envelope)
    },

    async blockRefByNumber(number) {
      const envelope = await payloadByNumber(number)
      return envelope && toRef(envelope)
    },

    async blockRefByLabel(label: L2BlockLabel) {
      const envelope = await readBlock('eth_getBlockByNumber', label)
      return envelope && toRef(envelope)
    },

    async systemConfigByL2Hash(hash) {
      const envelope = await payloadByHash(hash)
      if (envelope === undefined) throw new DecodeError(`engine does not have L2 block ${hash}`, { severity: 'reset' })
      return systemConfigFromPayload(envelope.payload, config)
    },

    async proof(address, slots, blockHash) {
      return accountProofFromJson(await request('eth_getProof', [address, slots, blockHash]))
    },

    chainId: async () => quantityToBigInt(await request('eth_chainId', []), 'eth_chainId answer'),

    async ownSync() {
      const answer = await request('eth_syncing', [])
      if (answer === false) return undefined
      const progress = new JsonObjectReader(answer, 'eth_syncing answer')
      return { current: progress.quantityNumber('currentBlock'), highest: progress.quantityNumber('highestBlock') }
    },

    async setSdmOptIn(optIn) {
      for (const method of SDM_METHODS) {
        try {
          await request(method, [optIn])
          return true
        } catch (error) {
          if (!(error instanceof JsonRpcError) || error.rpcCode !== RPC_METHOD_NOT_FOUND) throw error
        }
      }
      return false
    },
  }

  /**
   * Engines with Karst (Osaka) accept only getPayloadV5. Its result has the same fields for us. newPayload stays at V4.
   */
  function getPayloadMethod(timestamp: number): string {
    const isKarst = isForkActive(config, 'karst', timestamp)
    return `engine_getPayloadV${isKarst ? 5 : isIsthmus(timestamp) ? 4 : isEcotone(timestamp) ? 3 : 2}`
  }

  /** V3 also without attributes, as in op-node's engine client; else by the attributes' timestamp. */
  function forkchoiceMethod(attributes: PayloadAttributes | undefined): string {
    const isV3 = attributes === undefined || isEcotone(attributes.timestamp)
    return `engine_forkchoiceUpdatedV${isV3 ? 3 : isForkActive(config, 'canyon', attributes.timestamp) ? 2 : 1}`
  }
}

/** op-reth renamed its method in July 2026 (ethereum-optimism/optimism#21551). */
const SDM_METHODS = ['admin_setSdmPostExecOptIn', 'admin_setOperatorSdmOptIn']

const STATUS_KINDS: readonly PayloadStatusKind[] = ['VALID', 'INVALID', 'SYNCING', 'ACCEPTED', 'INVALID_BLOCK_HASH']

function payloadStatusFromJson(json: unknown): PayloadStatus {
  const object = asObject(json, 'payload status')
  const status = STATUS_KINDS.find((kind) => kind === object.status)
  if (status === undefined) throw new DecodeError(`payload status: unknown value ${String(object.status)}`)
  const result: PayloadStatus = { status }
  if (typeof object.latestValidHash === 'string') {
    result.latestValidHash = normalizeHex(object.latestValidHash, 32, 'latestValidHash')
  }
  if (typeof object.validationError === 'string') result.validationError = object.validationError
  return result
}

function forkchoiceResultFromJson(json: unknown): ForkchoiceResult {
  const object = new JsonObjectReader(json, 'forkchoice answer')
  const payloadId = object.optionalHex('payloadId', 8)
  const payloadStatus = payloadStatusFromJson(object.raw('payloadStatus'))
  return payloadId === undefined ? { payloadStatus } : { payloadStatus, payloadId }
}
