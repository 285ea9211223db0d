import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { JsonValue } from '../../jsonRpc/types.ts'
import { concatBytes } from '../../lib/bytes.ts'
import { systemClock, unixSeconds } from '../../lib/clock.ts'
import { keccak256 } from '../../lib/hash.ts'
import { type Hex, toHex, toQuantity } from '../../lib/hex.ts'
import { createJwt } from '../../lib/jwt.ts'
import { ZERO_HASH } from '../../rollup/protocol/types.ts'
import { BlockDriver, forkchoice } from '../testUtils/blockDriver.ts'
import { type ExecutionNode, startExecutionNode, TEST_JWT_SECRET } from '../testUtils/executionNode.ts'
import { loadRecordedRpc } from '../testUtils/recordedRpc.ts'
import { DEV_ADDRESSES, DEV_KEYS, signTransaction } from '../testUtils/signTransaction.ts'
import { withFork } from '../testUtils/withFork.ts'

type Json = { [key: string]: JsonValue }

const holocene = loadRecordedRpc('holocene-span-brotli-calldata')
const UNKNOWN: Hex = `0x${'99'.repeat(32)}`
const [KEY, OTHER_KEY] = DEV_KEYS

let node: ExecutionNode
let driver: BlockDriver
const engine = (method: string, ...params: unknown[]) => node.engine.request(method, params)

async function start(recording = holocene): Promise<void> {
  node = await startExecutionNode(recording.genesis)
  driver = new BlockDriver(node.engine, recording.rollup)
}

beforeEach(() => start())

afterEach(async () => {
  await node.close()
  expect(node.unexpected).toEqual([])
})

describe('authentication', () => {
  /** Made when it is sent: the tests before it may take longer than a token is valid. */
  const tokenOf = (secondsFromNow: number, secret = TEST_JWT_SECRET) =>
    createJwt(secret, unixSeconds(systemClock) + secondsFromNow)
  const post = (headers: Record<string, string>) =>
    fetch(node.engine.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'engine_exchangeCapabilities', params: [[]] }),
    })

  it.each([
    ['no token', () => undefined],
    ['a token of another secret', () => tokenOf(0, new Uint8Array(32))],
    ['a token of an hour ago', () => tokenOf(-3600)],
    ['a token from the future', () => tokenOf(120)],
    ['no token at all', () => 'rubbish'],
  ])('a request with %s is refused with HTTP status 401', async (_, createToken) => {
    const token = createToken()
    const response = await post(token === undefined ? {} : { authorization: `Bearer ${token}` })
    expect(response.status).toBe(401)
  })

  it('a valid token is accepted', async () => {
    const response = await post({ authorization: `Bearer ${tokenOf(0)}` })
    expect(response.status).toBe(200)
    const { result } = (await response.json()) as { result: string[] }
    expect(result).toContain('engine_forkchoiceUpdatedV3')
    expect(result).not.toContain('engine_exchangeCapabilities')
  })

  it('the public port does not serve engine methods', async () => {
    await expect(node.eth.request('engine_getPayloadV3', ['0x0000000000000000'])).rejects.toMatchObject({
      rpcCode: -32601,
    })
  })
})

describe('forkchoiceUpdated', () => {
  const genesis = () => node.chain.genesis.hash

  it.each([1, 2])('version %i refuses Ecotone attributes', async (version) => {
    const { parentHash, json } = await driver.attributes()
    const { parentBeaconBlockRoot: _, ...rest } = json
    const attributes = version === 1 ? { ...rest, withdrawals: null } : rest
    await expect(
      engine(`engine_forkchoiceUpdatedV${version}`, forkchoice(parentHash), attributes),
    ).rejects.toMatchObject({ rpcCode: version === 1 ? -32602 : -38005 })
  })

  it.each<[string, Json, number, string]>([
    ['gas limit', { gasLimit: null }, -38003, 'gasLimit parameter is required'],
    ['withdrawals', { withdrawals: null }, -38003, 'missing withdrawals'],
    ['beacon root', { parentBeaconBlockRoot: null }, -38003, 'missing beacon root'],
    ['EIP-1559 parameters', { eip1559Params: null }, -38003, 'eip'],
    ['a denominator', { eip1559Params: '0x0000000000000001' }, -38003, 'denominator'],
    ['a later timestamp', { timestamp: '0x1' }, -38003, 'timestamp'],
    ['valid JSON values', { prevRandao: '0x12' }, -32602, 'invalid argument 1: payloadAttributes.prevRandao'],
    ['valid transactions', { transactions: ['0x02c0'] }, -38003, 'transaction 0 is not valid'],
  ])('attributes without %s are refused', async (_, change, rpcCode, text) => {
    const { parentHash, json } = await driver.attributes({ noTxPool: true })
    const call = engine('engine_forkchoiceUpdatedV3', forkchoice(parentHash), { ...json, ...change })
    await expect(call).rejects.toMatchObject({ rpcCode, message: expect.stringContaining(text) })
  })

  it('attributes with an invalid forced transaction are refused', async () => {
    const { parentHash, json } = await driver.attributes({
      transactions: [signTransaction(KEY, { nonce: 7 }).raw],
      noTxPool: true,
    })
    await expect(engine('engine_forkchoiceUpdatedV3', forkchoice(parentHash), json)).rejects.toMatchObject({
      rpcCode: -38003,
    })
  })

  it('answers SYNCING to an unknown head, and INVALID to the zero head', async () => {
    expect(await engine('engine_forkchoiceUpdatedV3', forkchoice(UNKNOWN), null)).toEqual({
      payloadStatus: { status: 'SYNCING', latestValidHash: null, validationError: null },
      payloadId: null,
    })
    expect(await engine('engine_forkchoiceUpdatedV3', forkchoice(ZERO_HASH))).toMatchObject({
      payloadStatus: { status: 'INVALID' },
    })
  })

  it.each<[string, Hex, Hex, string]>([
    ['an unknown safe block', UNKNOWN, ZERO_HASH, 'safe block not available in database'],
    ['an unknown finalized block', ZERO_HASH, UNKNOWN, 'final block not available in database'],
  ])('%s', async (_, safe, finalized, text) => {
    const call = engine('engine_forkchoiceUpdatedV3', forkchoice(genesis(), safe, finalized), null)
    await expect(call).rejects.toMatchObject({
      rpcCode: -38002,
      message: expect.stringContaining(text),
      data: { err: text },
    })
  })

  it('safe and finalized blocks of another branch are refused', async () => {
    const first = await driver.build()
    const sibling = await driver.build({ parent: genesis(), transactions: [signTransaction(KEY).raw] })
    const siblingHash = sibling.blockHash as Hex
    const call = (safe: Hex, finalized: Hex) =>
      engine('engine_forkchoiceUpdatedV3', forkchoice(siblingHash, safe, finalized), null)
    const other = first.blockHash as Hex
    await expect(call(other, ZERO_HASH)).rejects.toThrow('safe block not in canonical chain')
    await expect(call(ZERO_HASH, other)).rejects.toThrow('final block not in canonical chain')
    await driver.setHead(siblingHash, siblingHash, genesis())
    expect(await node.eth.request('eth_getBlockByNumber', ['safe', false])).toMatchObject({ hash: siblingHash })
    expect(await node.eth.request('eth_getBlockByNumber', ['finalized', false])).toMatchObject({ hash: genesis() })
  })

  it('moves the head back to an ancestor', async () => {
    const first = await driver.build()
    await driver.build()
    await driver.setHead(first.blockHash as Hex)
    expect(await node.eth.request('eth_blockNumber', [])).toBe('0x1')
    await driver.build()
    expect(await node.eth.request('eth_blockNumber', [])).toBe('0x2')
  })
})

/** Resolves when a builder has a pool transaction in its block. */
function isTaken(hash: Hex): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const best = node.pool.best.bind(node.pool)
  node.pool.best = (baseFee) => {
    const cursor = best(baseFee)
    return {
      peek: () => cursor.peek(),
      next() {
        if (cursor.peek()?.hash === hash) resolve()
        cursor.next()
      },
      skipSender: () => cursor.skipSender(),
    }
  }
  return promise
}

describe('building', () => {
  it('the payload id is determined by the attributes', async () => {
    const id = await driver.start({ noTxPool: true })
    expect(id).toMatch(/^0x03/)
    expect(await driver.start({ noTxPool: true })).toBe(id)
    expect(await driver.start({ noTxPool: false })).not.toBe(id)
  })

  it('includes transactions that are in the pool or enter it until the payload is fetched', async () => {
    const [early, late] = [signTransaction(KEY), signTransaction(OTHER_KEY)]
    await node.pool.add(early)
    const lateIsTaken = isTaken(late.hash)
    const payload = await driver.build({
      meanwhile: async () => {
        await node.pool.add(late)
        await lateIsTaken
      },
    })
    expect(payload.transactions).toHaveLength(3)
    expect(payload.transactions).toEqual(expect.arrayContaining([toHex(early.raw), toHex(late.raw)]))
    expect(await node.eth.request('txpool_status', [])).toEqual({ pending: '0x0', queued: '0x0' })
  })

  it('applies the limits that the batch submitter sets', async () => {
    // Hashes do not compress.
    const data = concatBytes(...Array.from({ length: 60 }, (_, index) => keccak256(Uint8Array.of(index))))
    const large = signTransaction(KEY, { data, gasLimit: 200_000n, maxPriorityFeePerGas: 5_000_000n })
    await node.pool.add(large)
    for (const nonce of [0, 1, 2]) await node.pool.add(signTransaction(OTHER_KEY, { nonce }))
    const mined = async (transaction: number, block: number) => {
      const limits = [transaction, block].map((bytes) => `0x${bytes.toString(16)}`)
      expect(await node.eth.request('miner_setMaxDASize', limits)).toBe(true)
      return ((await driver.build()).transactions as unknown[]).length - 1
    }
    // A transfer counts 100 bytes.
    expect(await mined(1000, 0)).toBe(3)
    for (const nonce of [3, 4, 5]) await node.pool.add(signTransaction(OTHER_KEY, { nonce }))
    expect(await mined(1000, 250)).toBe(2)
    expect(await mined(0, 0)).toBe(2)
    expect(node.pool.get(large.hash)).toBeUndefined()
  })

  it('leaves the gas above miner_setGasLimit unused', async () => {
    for (const nonce of [0, 1, 2]) await node.pool.add(signTransaction(KEY, { nonce }))
    // The first L1-info deposit fills empty slots, so it uses more gas.
    await driver.build({ noTxPool: true })
    const info = await driver.build({ noTxPool: true })
    // The L1-info deposit and two transfers.
    const limit = BigInt(String(info.gasUsed)) + 50_000n
    expect(await node.eth.request('miner_setGasLimit', [toQuantity(limit)])).toBe(true)
    const limited = await driver.build()
    expect(limited.transactions).toHaveLength(3)
    expect(limited.gasLimit).toBe(info.gasLimit)
    expect(await node.eth.request('miner_setGasLimit', ['0x0'])).toBe(true)
    expect((await driver.build()).transactions).toHaveLength(2)
  })

  it('includes no pool transactions with noTxPool', async () => {
    await node.pool.add(signTransaction(KEY))
    const payload = await driver.build({ noTxPool: true })
    expect(payload.transactions).toHaveLength(1)
    expect(node.pool.status().pending).toBe(1)
  })

  it('returns a payload more than once, but only to its own version of the method', async () => {
    const id = await driver.start()
    const first = await engine('engine_getPayloadV3', id)
    expect(await engine('engine_getPayloadV3', id)).toEqual(first)
    expect(first).toMatchObject({
      blockValue: expect.stringMatching(/^0x/),
      blobsBundle: { commitments: [], proofs: [], blobs: [] },
      shouldOverrideBuilder: false,
      parentBeaconBlockRoot: ZERO_HASH,
    })
    for (const version of [1, 2, 4]) {
      await expect(engine(`engine_getPayloadV${version}`, id)).rejects.toMatchObject({ rpcCode: -38005 })
    }
  })

  it('refuses an unknown payload id', async () => {
    await expect(engine('engine_getPayloadV3', '0x0300000000000000')).rejects.toMatchObject({
      rpcCode: -38001,
      message: 'Unknown payload',
    })
  })

  it('keeps the last ten payloads', async () => {
    const ids: Hex[] = []
    for (let nonce = 0; nonce < 11; nonce++) {
      const transactions = [signTransaction(KEY, { value: BigInt(nonce) }).raw]
      ids.push(await driver.start({ transactions, noTxPool: true }))
    }
    await expect(engine('engine_getPayloadV3', ids[0])).rejects.toMatchObject({ rpcCode: -38001 })
    await engine('engine_getPayloadV3', ids[1])
    await engine('engine_getPayloadV3', ids[10])
  })

  it('returns the transactions of a reorged block to the pool', async () => {
    const lost = signTransaction(KEY, { value: 5n })
    await node.pool.add(lost)
    await driver.build()
    expect(node.pool.get(lost.hash)).toBeUndefined()
    await driver.build({
      parent: node.chain.genesis.hash,
      noTxPool: true,
      transactions: [signTransaction(OTHER_KEY).raw],
    })
    await node.pool.add(signTransaction(KEY, { nonce: 1 }))
    expect(node.pool.content(DEV_ADDRESSES[0]).pending.map(({ nonce }) => nonce)).toEqual([0, 1])
  })
})

describe('newPayload', () => {
  async function payload(): Promise<Json> {
    const answer = (await engine('engine_getPayloadV3', await driver.start({ noTxPool: true }))) as Json
    return answer.executionPayload as Json
  }

  it('answers INVALID to an altered block, and VALID to the right one', async () => {
    const good = await payload()
    expect(await engine('engine_newPayloadV3', { ...good, gasUsed: '0x1' }, [], ZERO_HASH)).toMatchObject({
      status: 'INVALID',
      validationError: expect.any(String),
    })
    expect(await engine('engine_newPayloadV3', good, [], ZERO_HASH)).toEqual({
      status: 'VALID',
      latestValidHash: good.blockHash,
      validationError: null,
    })
  })

  it('answers SYNCING to a block with a missing parent', async () => {
    const first = await payload()
    await engine('engine_newPayloadV3', first, [], ZERO_HASH)
    await driver.setHead(first.blockHash as Hex)
    const second = await payload()
    await node.close()
    await start()
    expect(await engine('engine_newPayloadV3', second, [], ZERO_HASH)).toMatchObject({ status: 'SYNCING' })
    for (const block of [first, second, first]) {
      expect(await engine('engine_newPayloadV3', block, [], ZERO_HASH)).toMatchObject({ status: 'VALID' })
    }
  })

  it('answers INVALID to blob hashes', async () => {
    expect(await engine('engine_newPayloadV3', await payload(), [UNKNOWN], ZERO_HASH)).toMatchObject({
      status: 'INVALID',
    })
  })

  it.each<[string, Json, unknown[], number]>([
    ['engine_newPayloadV1', {}, [], -32602],
    ['engine_newPayloadV2', {}, [], -32602],
    ['engine_newPayloadV3', { excessBlobGas: null }, [[], ZERO_HASH], -32602],
    ['engine_newPayloadV3', {}, [null, ZERO_HASH], -32602],
    ['engine_newPayloadV3', {}, [[]], -32602],
    ['engine_newPayloadV3', { stateRoot: '0x' }, [[], ZERO_HASH], -32602],
    ['engine_newPayloadV4', {}, [[], ZERO_HASH, []], -38005],
  ])('refuses %s of a Holocene block with %j and %j', async (method, change, rest, rpcCode) => {
    await expect(engine(method, { ...(await payload()), ...change }, ...rest)).rejects.toMatchObject({ rpcCode })
  })

  it('returns the bodies of known blocks by hash and by range', async () => {
    const { blockHash, transactions } = await driver.build()
    const body = { transactions, withdrawals: [] }
    expect(await engine('engine_getPayloadBodiesByHashV1', [blockHash, UNKNOWN])).toEqual([body, null])
    expect(await engine('engine_getPayloadBodiesByRangeV1', '0x1', '0x9')).toEqual([body])
    await expect(engine('engine_getPayloadBodiesByRangeV1', '0x0', '0x1')).rejects.toMatchObject({ rpcCode: -32602 })
  })
})

describe.each(['isthmus', 'jovian', 'karst', 'lagoon'] as const)('a chain with %s from its genesis', (fork) => {
  const isKarst = fork === 'karst' || fork === 'lagoon'

  beforeEach(async () => {
    await node.close()
    await start(withFork(holocene, fork))
  })

  it('builds and imports with the version of the fork, and shows the new header members', async () => {
    await node.pool.add(signTransaction(KEY))
    const payload = await driver.build()
    expect(payload).toMatchObject({ withdrawalsRoot: expect.stringMatching(/^0x[0-9a-f]{64}$/) })
    expect(payload.transactions).toHaveLength(2)
    const block = await node.eth.request('eth_getBlockByNumber', ['latest', true])
    expect(block).toMatchObject({
      withdrawalsRoot: payload.withdrawalsRoot,
      requestsHash: '0xe3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    })
    const [, receipt] = (await node.eth.request('eth_getBlockReceipts', ['latest'])) as Json[]
    expect(receipt).toMatchObject({ status: '0x1', type: '0x2' })
    if (fork !== 'isthmus') expect(receipt).toHaveProperty('daFootprintGasScalar')
  })

  it('refuses version 3 of newPayload, and all versions of getPayload but its own', async () => {
    const id = await driver.start({ noTxPool: true })
    const own = isKarst ? 5 : 4
    for (const version of [1, 2, 3, 4, 5]) {
      if (version === own) continue
      await expect(engine(`engine_getPayloadV${version}`, id)).rejects.toMatchObject({ rpcCode: -38005 })
    }
    const { executionPayload, executionRequests } = (await engine(`engine_getPayloadV${own}`, id)) as Json
    expect(executionRequests).toEqual([])
    await expect(engine('engine_newPayloadV3', executionPayload, [], ZERO_HASH)).rejects.toMatchObject({
      rpcCode: -38005,
    })
    await expect(engine('engine_newPayloadV4', executionPayload, [], ZERO_HASH)).rejects.toMatchObject({
      rpcCode: -32602,
    })
  })

  it('caps the gas of transactions and estimates, but not of calls, from Karst on', async () => {
    const gasLimit = 16_777_217n
    const add = node.eth.request('eth_sendRawTransaction', [toHex(signTransaction(KEY, { gasLimit }).raw)])
    if (isKarst) await expect(add).rejects.toThrow('transaction gas limit too high')
    else expect(await add).toMatch(/^0x/)
    // Code that returns its remaining gas.
    const target = `0x${'0c'.repeat(20)}`
    const gasLeft = [{ to: target, gas: '0x2000000' }, 'latest', { [target]: { code: '0x5a5f5260205ff3' } }]
    expect(BigInt(String(await node.eth.request('eth_call', gasLeft)))).toBeGreaterThan(gasLimit)
    // Code that needs more memory than gas can pay if it has less than 20,000,000.
    const greedy = [{ to: target }, 'latest', { [target]: { code: '0x5a6301312d0011600b57005b63ffffffff51' } }]
    const estimate = node.eth.request('eth_estimateGas', greedy)
    if (isKarst) await expect(estimate).rejects.toThrow('gas required exceeds allowance (16777216)')
    else expect(BigInt(String(await estimate))).toBeGreaterThan(gasLimit)
  })
})
