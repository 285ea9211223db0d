import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { RpcClient } from '../../jsonRpc/client.ts'
import { createRpcApp, type HttpServerHandle, serveApp } from '../../jsonRpc/httpServer.ts'
import { createRpcDispatcher, type RpcHandler } from '../../jsonRpc/server.ts'
import { createPatientClient } from '../../jsonRpc/testUtils/patientClient.ts'
import { JsonRpcError, type JsonValue } from '../../jsonRpc/types.ts'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { payloadToJson } from '../protocol/index.ts'
import type { PayloadAttributes, RollupConfig } from '../protocol/types.ts'
import { createEngineClient, type EngineClient } from './engineClient.ts'
import { fakeGenesis } from './testUtils/fakeEngine.ts'

const SECRET = new Uint8Array(32).fill(7)
const HASH = `0x${'ab'.repeat(32)}` as const
/** Canyon since 100, Ecotone since 200, Isthmus since 300, Karst since 400. */
const CONFIG: RollupConfig = {
  genesis: {
    l1: { hash: HASH, number: 0 },
    l2: { hash: HASH, number: 0 },
    l2Time: 1,
    systemConfig: { batcherAddress: `0x${'00'.repeat(20)}`, overhead: HASH, scalar: HASH, gasLimit: 1n },
  },
  blockTime: 1,
  maxSequencerDrift: 600,
  seqWindowSize: 10,
  channelTimeout: 10,
  l1ChainId: 1n,
  l2ChainId: 10n,
  forks: {
    regolith: 0,
    canyon: 100,
    delta: 100,
    ecotone: 200,
    fjord: 200,
    granite: 200,
    holocene: 200,
    isthmus: 300,
    jovian: 400,
    karst: 400,
  },
  batchInboxAddress: `0x${'00'.repeat(20)}`,
  depositContractAddress: `0x${'00'.repeat(20)}`,
  l1SystemConfigAddress: `0x${'00'.repeat(20)}`,
}
const SDM_NAMES = ['admin_setSdmPostExecOptIn', 'admin_setOperatorSdmOptIn']
const STATE = { headBlockHash: HASH, safeBlockHash: HASH, finalizedBlockHash: HASH }

let calls: { method: string; params: readonly JsonValue[] }[]
let answers: Record<string, RpcHandler>
let server: HttpServerHandle
let rpc: RpcClient
let client: EngineClient

beforeEach(async () => {
  calls = []
  answers = {}
  const methods = new Map<string, RpcHandler>()
  const names = ['eth_chainId', 'eth_getBlockByNumber', 'eth_getBlockByHash', 'eth_getProof', ...SDM_NAMES]
  for (const version of [1, 2, 3, 4, 5]) {
    names.push(`engine_forkchoiceUpdatedV${version}`, `engine_newPayloadV${version}`, `engine_getPayloadV${version}`)
  }
  for (const name of names) {
    methods.set(name, (params, context) => {
      calls.push({ method: name, params })
      const answer = answers[name.replace(/V\d$/, '')]
      if (answer === undefined) throw new JsonRpcError(-32601, 'not served')
      return answer(params, context)
    })
  }
  const app = createRpcApp({ dispatcher: createRpcDispatcher({ methods }), jwtSecret: SECRET })
  server = await serveApp(app, '127.0.0.1', 0, 'test')
  rpc = createPatientClient({ url: server.url, jwtSecret: SECRET })
  client = createEngineClient({ rpc }, CONFIG)
})

afterEach(async () => {
  await rpc.close()
  await server.close()
})

function attributesAt(timestamp: number): PayloadAttributes {
  return {
    timestamp,
    prevRandao: HASH,
    suggestedFeeRecipient: `0x${'00'.repeat(20)}`,
    transactions: [Uint8Array.of(0x7e)],
    noTxPool: true,
    gasLimit: 30_000_000n,
  }
}

describe('versions', () => {
  it.each([
    { at: undefined, method: 'engine_forkchoiceUpdatedV3' },
    { at: 99, method: 'engine_forkchoiceUpdatedV1' },
    { at: 100, method: 'engine_forkchoiceUpdatedV2' },
    { at: 200, method: 'engine_forkchoiceUpdatedV3' },
    { at: 300, method: 'engine_forkchoiceUpdatedV3' },
  ])('forkchoice with attributes at $at is $method', async ({ at, method }) => {
    answers.engine_forkchoiceUpdated = () => ({
      payloadStatus: { status: 'VALID', latestValidHash: HASH, validationError: null },
      payloadId: '0x0102030405060708',
    })
    const result = await client.forkchoiceUpdated(STATE, at === undefined ? undefined : attributesAt(at))
    expect(result).toEqual({
      payloadStatus: { status: 'VALID', latestValidHash: HASH },
      payloadId: '0x0102030405060708',
    })
    expect(calls[0]?.method).toBe(method)
    expect(calls[0]?.params[0]).toEqual(STATE)
    if (at === undefined) expect(calls[0]?.params[1]).toBeNull()
    else
      expect(calls[0]?.params[1]).toMatchObject({
        timestamp: `0x${at.toString(16)}`,
        noTxPool: true,
        transactions: ['0x7e'],
      })
  })

  it.each([
    { at: 100, method: 'engine_newPayloadV2', params: 1 },
    { at: 200, method: 'engine_newPayloadV3', params: 3 },
    { at: 300, method: 'engine_newPayloadV4', params: 4 },
    { at: 400, method: 'engine_newPayloadV4', params: 4 },
  ])('a block at $at is sent by $method', async ({ at, method, params }) => {
    answers.engine_newPayload = () => ({ status: 'INVALID', latestValidHash: null, validationError: 'bad block' })
    const block = fakeGenesis(at, 30_000_000n)
    expect(await client.newPayload(block)).toEqual({ status: 'INVALID', validationError: 'bad block' })
    expect(calls[0]?.method).toBe(method)
    expect(calls[0]?.params).toHaveLength(params)
    if (params > 1) expect(calls[0]?.params[2]).toBe(block.parentBeaconBlockRoot)
  })

  it.each([
    { at: 100, method: 'engine_getPayloadV2' },
    { at: 200, method: 'engine_getPayloadV3' },
    { at: 300, method: 'engine_getPayloadV4' },
    { at: 400, method: 'engine_getPayloadV5' },
  ])('a block at $at is fetched by $method', async ({ at, method }) => {
    const block = fakeGenesis(at, 30_000_000n)
    answers.engine_getPayload = () => ({
      executionPayload: payloadToJson(block.payload),
      parentBeaconBlockRoot: block.parentBeaconBlockRoot,
      blockValue: '0x0',
    })
    expect(await client.getPayload('0x0102030405060708', at)).toEqual(block)
    expect(calls[0]).toEqual({ method, params: ['0x0102030405060708'] })
  })
})

describe('reads', () => {
  it('treat null and "not found" as missing, and other errors as errors', async () => {
    answers.eth_getBlockByNumber = () => null
    expect(await client.payloadByNumber(5)).toBeUndefined()
    expect(calls[0]?.params).toEqual(['0x5', true])
    answers.eth_getBlockByNumber = () => {
      throw new JsonRpcError(-39001, 'finalized block not found')
    }
    expect(await client.blockRefByLabel('finalized')).toBeUndefined()
    answers.eth_getBlockByNumber = () => {
      throw new JsonRpcError(-32000, 'database is broken')
    }
    await expect(client.blockRefByLabel('safe')).rejects.toThrow('database is broken')
  })

  it('return an inserted block without a request', async () => {
    answers.engine_newPayload = () => ({ status: 'VALID', latestValidHash: HASH })
    const block = fakeGenesis(200, 30_000_000n)
    await client.newPayload(block)
    expect(await client.payloadByHash(block.payload.blockHash)).toBe(block)
    expect(calls).toHaveLength(1)
  })

  it('name the missing block when its system config is requested', async () => {
    answers.eth_getBlockByHash = () => null
    await expect(client.systemConfigByL2Hash(HASH)).rejects.toMatchObject({ severity: 'reset' })
  })
})

describe('transport', () => {
  it('reports the HTTP status when the JWT secret is refused', async () => {
    const unauthorized = createPatientClient({ url: server.url, jwtSecret: new Uint8Array(32).fill(8) })
    await expect(createEngineClient({ rpc: unauthorized }, CONFIG).chainId()).rejects.toMatchObject({
      code: 'rpc-transport',
      details: { status: 401 },
    })
    await unauthorized.close()
  })

  it("passes the engine's error codes on", async () => {
    answers.engine_forkchoiceUpdated = () => {
      throw new JsonRpcError(-38002, 'Invalid forkchoice state')
    }
    await expect(client.forkchoiceUpdated(STATE)).rejects.toMatchObject({ rpcCode: -38002 })
  })

  it('refuses a status outside the specification', async () => {
    answers.engine_newPayload = () => ({ status: 'MAYBE' })
    await expect(client.newPayload(fakeGenesis(200, 1n))).rejects.toThrow(errorWith('decode', 'MAYBE'))
  })
})

describe('the opt-in to refunds of gas', () => {
  const [ours, opReths] = SDM_NAMES
  if (ours === undefined || opReths === undefined) throw new Error('two names')
  const calledMethods = () => calls.map(({ method, params }) => [method, ...params])

  it('uses the first method name that the engine supports', async () => {
    answers[ours] = () => null
    expect(await client.setSdmOptIn(true)).toBe(true)
    expect(calledMethods()).toEqual([[ours, true]])
  })

  it("uses op-reth's newer name if the engine does not support the older one", async () => {
    answers[opReths] = () => null
    expect(await client.setSdmOptIn(false)).toBe(true)
    expect(calledMethods()).toEqual([
      [ours, false],
      [opReths, false],
    ])
  })

  it('is refused by an engine that supports neither, and fails if the engine fails', async () => {
    expect(await client.setSdmOptIn(true)).toBe(false)
    answers[ours] = () => {
      throw new JsonRpcError(-32000, 'not now')
    }
    await expect(client.setSdmOptIn(true)).rejects.toThrow('not now')
  })
})
