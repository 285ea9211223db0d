import { invalidParams, type JsonValue } from '../../jsonRpc/types.ts'
import { describeError } from '../../lib/errors.ts'
import { type Hex, normalizeHex, toHex, toQuantity } from '../../lib/hex.ts'
import { type ExecutionPayload, payloadFromJson, payloadToJson } from '../../rollup/protocol/index.ts'
import type { BuiltBlock } from '../chain/building.ts'
import type { Chain } from '../chain/opChain.ts'
import type { Block } from '../primitives/block.ts'
import { maybe, readArray } from '../rpc/params.ts'
import { engineError } from './errors.ts'

type Forks = Pick<Chain, 'isForkActive'>

export function readPayload(json: JsonValue, chain: Forks): ExecutionPayload {
  try {
    const payload = payloadFromJson(json)
    if (payload.withdrawalsRoot === undefined || chain.isForkActive('isthmus', payload.timestamp)) return payload
    // Before Isthmus the payload has no withdrawals root, but some rollup nodes send it.
    const { withdrawalsRoot: _, ...rest } = payload
    return rest
  } catch (error) {
    throw invalidParams(`invalid argument 0: ${describeError(error)}`)
  }
}

/** The parameters of newPayload beside the payload. */
export interface NewPayloadExtras {
  versionedHashes: Hex[] | undefined
  parentBeaconBlockRoot: Hex | undefined
  executionRequests: unknown[] | undefined
}

export function readExtras(
  versionedHashes: JsonValue | undefined,
  beaconRoot: JsonValue | undefined,
  requests: JsonValue | undefined,
): NewPayloadExtras {
  try {
    return {
      versionedHashes: maybe(versionedHashes, (value) =>
        readArray(value, 'versionedHashes', 4096).map((hash) => normalizeHex(hash, 32, 'versioned hash')),
      ),
      parentBeaconBlockRoot: maybe(beaconRoot, (value) => normalizeHex(value, 32, 'parentBeaconBlockRoot')),
      executionRequests: maybe(requests, (value) => readArray(value, 'executionRequests', 4096)),
    }
  } catch (error) {
    throw invalidParams(describeError(error))
  }
}

/** The method's version must fit the payload's timestamp and fields. The messages are geth's. */
export function checkNewPayload(
  version: 1 | 2 | 3 | 4,
  payload: ExecutionPayload,
  extras: NewPayloadExtras,
  chain: Forks,
): void {
  const refuse = (detail: string) => engineError('invalidParams', detail)
  const at = (fork: 'canyon' | 'ecotone' | 'isthmus') => chain.isForkActive(fork, payload.timestamp)
  if (version <= 2) {
    if (version === 1 && payload.withdrawals !== undefined) throw refuse('withdrawals not supported in V1')
    if (at('ecotone')) throw refuse(`can't use newPayloadV${version} post-cancun`)
    if (at('canyon') && payload.withdrawals === undefined) throw refuse('nil withdrawals post-shanghai')
    if (!at('canyon') && payload.withdrawals !== undefined) throw refuse('non-nil withdrawals pre-shanghai')
    if (payload.excessBlobGas !== undefined) throw refuse('non-nil excessBlobGas pre-cancun')
    if (payload.blobGasUsed !== undefined) throw refuse('non-nil blobGasUsed pre-cancun')
    return
  }
  if (payload.withdrawals === undefined) throw refuse('nil withdrawals post-shanghai')
  if (payload.excessBlobGas === undefined) throw refuse('nil excessBlobGas post-cancun')
  if (payload.blobGasUsed === undefined) throw refuse('nil blobGasUsed post-cancun')
  if (extras.versionedHashes === undefined) throw refuse('nil versionedHashes post-cancun')
  if (extras.parentBeaconBlockRoot === undefined) throw refuse('nil beaconRoot post-cancun')
  if (version === 3) {
    if (!at('ecotone') || at('isthmus')) {
      throw engineError('unsupportedFork', 'newPayloadV3 must only be called for cancun payloads')
    }
    return
  }
  if (extras.executionRequests === undefined) throw refuse('nil executionRequests post-prague')
  if (extras.executionRequests.length > 0) throw refuse('executionRequests must be empty on OP Stack chains')
  if (!at('isthmus')) throw engineError('unsupportedFork', 'newPayloadV4 must only be called for prague payloads')
  if (payload.withdrawalsRoot === undefined) throw refuse('nil withdrawalsRoot post-isthmus')
}

export type GetPayloadVersion = 1 | 2 | 3 | 4 | 5

export function checkGetPayload(version: GetPayloadVersion, timestamp: number, chain: Forks): void {
  const at = (fork: 'ecotone' | 'isthmus' | 'karst') => chain.isForkActive(fork, timestamp)
  const wanted = at('karst') ? 5 : at('isthmus') ? 4 : at('ecotone') ? 3 : 2
  if (Math.max(version, 2) !== wanted) throw engineError('unsupportedFork')
}

export function formatBuilt(version: GetPayloadVersion, { envelope, blockValue }: BuiltBlock): object {
  const executionPayload = payloadToJson(envelope.payload)
  if (version === 1) return executionPayload
  const answer = { executionPayload, blockValue: toQuantity(blockValue) }
  if (version === 2) return answer
  return {
    ...answer,
    blobsBundle: { commitments: [], proofs: [], blobs: [] },
    shouldOverrideBuilder: false,
    parentBeaconBlockRoot: envelope.parentBeaconBlockRoot,
    ...(version >= 4 ? { executionRequests: [] } : {}),
  }
}

/** ExecutionPayloadBodyV1. */
export function formatBody(block: Block | undefined): object | null {
  if (block === undefined) return null
  return {
    transactions: block.transactions.map(({ raw }) => toHex(raw)),
    withdrawals: block.header.withdrawalsRoot === undefined ? null : [],
  }
}
