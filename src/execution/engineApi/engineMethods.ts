import type { JsonValue } from '../../jsonRpc/types.ts'
import type { Clock } from '../../lib/clock.ts'
import { type Hex, normalizeHex, quantityToBigInt } from '../../lib/hex.ts'
import { asObject } from '../../lib/jsonReader.ts'
import type { Logger } from '../../lib/logger.ts'
import { payloadId } from '../../rollup/protocol/index.ts'
import { ZERO_HASH } from '../../rollup/protocol/types.ts'
import type { TxSource } from '../chain/building.ts'
import type { ForkchoiceResult, ForkchoiceState } from '../chain/forkchoice.ts'
import type { Chain } from '../chain/opChain.ts'
import { hasCode } from '../errors.ts'
import type { MethodTable } from '../rpc/context.ts'
import { anyObject, anyValue, index, method, optional, type Param, readArray } from '../rpc/params.ts'
import type { SdmOptIn } from '../sdmOptIn.ts'
import { type ReadAttributes, readAttributes } from './attributes.ts'
import { BuildJobs } from './buildJobs.ts'
import { engineError } from './errors.ts'
import {
  checkGetPayload,
  checkNewPayload,
  formatBody,
  formatBuilt,
  type GetPayloadVersion,
  readExtras,
  readPayload,
} from './payloads.ts'

export interface EngineModules {
  chain: Chain
  pool: TxSource
  logger: Logger
  clock: Clock
  sdm: Readonly<SdmOptIn>
}

export interface EngineOptions {
  /** Reported by engine_getClientVersionV1. */
  version: string
}

/** Most blocks in one request for bodies (execution-apis, `shanghai.md`). */
const MAX_BODIES = 1024

/**
 * First bytes of the payload ids that each version of getPayload accepts. The first byte is the version of the
 * attributes.
 */
const PAYLOAD_ID_VERSIONS: Record<GetPayloadVersion, number[]> = { 1: [1], 2: [1, 2], 3: [3], 4: [3], 5: [3] }

const forkchoiceState: Param<ForkchoiceState> = {
  parse(value) {
    const json = asObject(value, 'forkchoiceState')
    return {
      headBlockHash: normalizeHex(json.headBlockHash, 32, 'headBlockHash'),
      safeBlockHash: normalizeHex(json.safeBlockHash, 32, 'safeBlockHash'),
      finalizedBlockHash: normalizeHex(json.finalizedBlockHash, 32, 'finalizedBlockHash'),
    }
  },
}
const payloadIdParam: Param<Hex> = { parse: (value) => normalizeHex(value, 8, 'payloadId') }
const hashes: Param<Hex[]> = {
  parse: (value) => readArray(value, 'hashes', MAX_BODIES).map((hash) => normalizeHex(hash, 32, 'hash')),
}
const rest = optional(anyValue, null)

/** The engine_ namespace, versions 1 to 5. `close` cancels blocks under construction. */
export function createEngineMethods(
  modules: EngineModules,
  options: EngineOptions,
): { methods: MethodTable; close: () => void } {
  const { chain, pool, logger, clock, sdm } = modules
  const jobs = new BuildJobs(clock)

  const startBuild = async (parentHash: Hex, { attributes, isGasLimitMissing }: ReadAttributes, version: 1 | 2 | 3) => {
    if (isGasLimitMissing) throw engineError('invalidPayloadAttributes', 'gasLimit parameter is required')
    const id = payloadId(parentHash, attributes, version)
    try {
      await jobs.start(id, () =>
        chain.startBuild({
          parentHash,
          attributes,
          ...(attributes.noTxPool ? {} : { txSource: pool }),
          refundsWarming: sdm.isOn,
        }),
      )
    } catch (error) {
      if (hasCode(error, 'invalid-attributes', 'build-failed')) {
        throw engineError('invalidPayloadAttributes', error.message)
      }
      throw error
    }
    return id
  }

  const forkchoiceUpdated = (version: 1 | 2 | 3) =>
    method([forkchoiceState, optional(anyObject, undefined)], async ([state, json]) => {
      const attributes = json === undefined ? undefined : readAttributes(json, version, chain)
      if (state.headBlockHash === ZERO_HASH) return answer({ status: 'INVALID', latestValidHash: null }, null)
      const result = await setForkchoice(chain, state)
      if (result.status !== 'VALID') {
        if (result.status === 'INVALID') logger.warn('Rejected a forkchoice', { ...state, err: result.validationError })
        return answer({ latestValidHash: null, ...result }, null)
      }
      const status = { status: 'VALID', latestValidHash: state.headBlockHash } as const
      if (attributes === undefined) return answer(status, null)
      return answer(status, await startBuild(state.headBlockHash, attributes, version))
    })

  const newPayload = (version: 1 | 2 | 3 | 4) => {
    const run = async (json: JsonValue, hashesJson: JsonValue, beaconRoot: JsonValue, requests: JsonValue) => {
      const payload = readPayload(json, chain)
      const extras = readExtras(hashesJson, beaconRoot, requests)
      checkNewPayload(version, payload, extras, chain)
      if ((extras.versionedHashes ?? []).length > 0) {
        return statusJson({
          status: 'INVALID',
          latestValidHash: null,
          validationError: `invalid number of versionedHashes: [${extras.versionedHashes?.join(' ')}] blobHashes: []`,
        })
      }
      const { parentBeaconBlockRoot } = extras
      const status = await chain.importPayload(
        parentBeaconBlockRoot === undefined ? { payload } : { payload, parentBeaconBlockRoot },
      )
      // If the execution fails, the chain logs more details.
      if (status.status === 'INVALID' && status.latestValidHash === null) {
        const { blockNumber: number, blockHash: hash } = payload
        logger.warn('Rejected an invalid payload', { number, hash, err: status.validationError })
      }
      return statusJson(status)
    }
    if (version <= 2) return method([anyValue], ([payload]) => run(payload, null, null, null))
    if (version === 3) return method([anyValue, rest, rest], ([payload, list, root]) => run(payload, list, root, null))
    return method([anyValue, rest, rest, rest], ([payload, list, root, requests]) => run(payload, list, root, requests))
  }

  const getPayload = (version: GetPayloadVersion) =>
    method([payloadIdParam], async ([id]) => {
      const idVersion = Number.parseInt(id.slice(2, 4), 16)
      if (!PAYLOAD_ID_VERSIONS[version].includes(idVersion)) throw engineError('unsupportedFork')
      const built = await jobs.take(id)
      if (built === undefined) throw engineError('unknownPayload')
      checkGetPayload(version, built.block.header.timestamp, chain)
      return formatBuilt(version, built)
    })

  const methods: MethodTable = {
    engine_forkchoiceUpdatedV1: forkchoiceUpdated(1),
    engine_forkchoiceUpdatedV2: forkchoiceUpdated(2),
    engine_forkchoiceUpdatedV3: forkchoiceUpdated(3),
    engine_newPayloadV1: newPayload(1),
    engine_newPayloadV2: newPayload(2),
    engine_newPayloadV3: newPayload(3),
    engine_newPayloadV4: newPayload(4),
    engine_getPayloadV1: getPayload(1),
    engine_getPayloadV2: getPayload(2),
    engine_getPayloadV3: getPayload(3),
    engine_getPayloadV4: getPayload(4),
    engine_getPayloadV5: getPayload(5),
    engine_getPayloadBodiesByHashV1: method([hashes], async ([list]) => {
      const bodies: (object | null)[] = []
      for (const hash of list) bodies.push(formatBody(await chain.blockByHash(hash)))
      return bodies
    }),
    engine_getPayloadBodiesByRangeV1: method([index, index], async ([start, count]) => {
      if (start < 1 || count < 1) {
        throw engineError('invalidParams', `invalid start or count, start: ${start} count: ${count}`)
      }
      if (count > MAX_BODIES) throw engineError('tooLargeRequest', `requested count too large: ${count}`)
      const bodies: (object | null)[] = []
      const last = Math.min(start + count - 1, chain.head().number)
      for (let number = start; number <= last; number++) bodies.push(formatBody(await chain.blockByNumber(number)))
      return bodies
    }),
    engine_exchangeTransitionConfigurationV1: method([anyObject], ([json]) => ({
      // OP Stack chains are past the merge from their first block on.
      terminalTotalDifficulty: `0x${quantityToBigInt(json.terminalTotalDifficulty, 'terminalTotalDifficulty').toString(16)}`,
      terminalBlockHash: ZERO_HASH,
      terminalBlockNumber: '0x0',
    })),
    engine_getClientVersionV1: method([optional(anyObject, undefined)], () => [
      { code: 'DV', name: 'devium-geth', version: options.version, commit: '0x00000000' },
    ]),
  }
  const capabilities = Object.keys(methods)
  methods.engine_exchangeCapabilities = method([optional(anyValue, [])], () => capabilities)
  return { methods, close: () => jobs.close() }
}

async function setForkchoice(chain: Chain, state: ForkchoiceState): Promise<ForkchoiceResult> {
  try {
    return await chain.setForkchoice(state)
  } catch (error) {
    if (hasCode(error, 'invalid-forkchoice')) throw engineError('invalidForkchoiceState', error.message)
    throw error
  }
}

type StatusLike = { status: string; latestValidHash: Hex | null; validationError?: string }

function statusJson({ status, latestValidHash, validationError }: StatusLike): object {
  return { status, latestValidHash, validationError: validationError ?? null }
}

function answer(status: StatusLike, id: Hex | null): object {
  return { payloadStatus: statusJson(status), payloadId: id }
}
