import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startExecutionNode, TEST_JWT_SECRET } from '../../../execution/testUtils/executionNode.ts'
import { loadRecordedRpc } from '../../../execution/testUtils/recordedRpc.ts'
import { JsonRpcError, RPC_METHOD_NOT_FOUND } from '../../../jsonRpc/types.ts'
import { ManualClock } from '../../../lib/clock.ts'
import { toHex } from '../../../lib/hex.ts'
import { parseRollupConfig, type RollupConfig } from '../../../rollup/protocol/index.ts'
import { testConfig } from '../../../rollup/protocol/testUtils/config.ts'
import { createEngineForkCheck } from './engineForkCheck.ts'
import { probeFork } from './forkProbes.ts'
import { gatherBeacon } from './gatherBeacon.ts'
import { gatherEngine, queryEngine } from './gatherEngine.ts'
import { gatherFollowed } from './gatherFollowed.ts'
import { gatherL1 } from './gatherL1.ts'
import { METHODS_UP_TO_KARST, NOW } from './testUtils/facts.ts'
import { serveBeacon, serveRpc } from './testUtils/servers.ts'

const NOBODY = 'http://127.0.0.1:1'

function secretFile(secret: Uint8Array = TEST_JWT_SECRET): string {
  const folder = mkdtempSync(join(tmpdir(), 'devium-doctor-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'jwt.txt')
  writeFileSync(path, toHex(secret))
  return path
}

describe('gathering facts of an engine', () => {
  const config = testConfig({ isthmus: 0, karst: NOW + 10 })
  const gather = (l2: string, jwtPath = secretFile(), of: RollupConfig = config, nowS = NOW) =>
    gatherEngine({ l2, jwtPath, timeoutMs: 5_000 }, of, nowS)
  const block = (number: string, timestamp: string) => ({ number, timestamp, hash: `0x${'A2'.repeat(32)}` })
  const ANSWERS = {
    eth_chainId: '0x385',
    engine_exchangeCapabilities: METHODS_UP_TO_KARST,
    engine_getClientVersionV1: [{ code: 'GE', name: 'Geth', version: '1.101603.5', commit: '0x00000000' }],
    eth_getBlockByNumber: ([tag]: unknown[]) => {
      return tag === 'latest' ? block('0x7', '0x64') : tag === '0x0' ? block('0x0', '0x1') : null
    },
    eth_syncing: false,
  }

  it('reads name, methods, blocks and genesis', async () => {
    const url = await serveRpc(ANSWERS, TEST_JWT_SECRET)
    expect(await gather(url)).toEqual({
      ...{ url, chainId: 901n, client: 'Geth/1.101603.5', methods: METHODS_UP_TO_KARST, isSyncing: false },
      ...{ genesisHash: config.genesis.l2.hash, head: { number: 7, time: 100 }, runs: {} },
    })
  })

  it('prefers web3_clientVersion, and works without methods that are not served', async () => {
    const url = await serveRpc(
      { eth_chainId: '0x1', web3_clientVersion: 'op-reth/v2.9.0', engine_exchangeCapabilities: [] },
      TEST_JWT_SECRET,
    )
    expect(await gather(url)).toEqual({ url, chainId: 1n, client: 'op-reth/v2.9.0', methods: [], runs: {} })
  })

  it.each([
    ['nothing listens', async () => NOBODY, 'down', /ECONNREFUSED/],
    ['the secret is another one', () => serveRpc(ANSWERS, new Uint8Array(32)), 'unauthorized', /HTTP 401/],
    [
      'the address is not an Engine API',
      () => serveRpc({ eth_chainId: '0x385' }),
      'wrong-kind',
      /engine_exchangeCapabilities/,
    ],
  ])('reports a problem if %s', async (_, serve, code, text) => {
    expect(await gather(await serve())).toMatchObject({ problem: { code, text: expect.stringMatching(text) } })
  })

  it('does not create a missing JWT secret', async () => {
    const path = join(tmpdir(), 'devium-doctor-no-such-file')
    const facts = await gather(NOBODY, path)
    expect(facts.problem).toEqual({ code: 'no-secret', text: expect.stringContaining(`${path} does not exist`) })
    expect(() => readFileSync(path)).toThrow(/ENOENT/)
  })
})

describe('gathering facts of devium-geth', () => {
  const { genesis, rollup } = loadRecordedRpc('2026-holocene-to-karst-blobs')
  const config = parseRollupConfig(rollup)
  const before = config.genesis.l2Time

  it.each([
    ['with the forks of the chain', {}, { isthmus: true, karst: true }],
    ['without the last one', { karstTime: undefined, osakaTime: undefined }, { isthmus: true, karst: false }],
  ])('finds the active rules at the time of future forks: %s', async (_, change, runs) => {
    const known = genesis.config
    const node = await startExecutionNode({
      ...genesis,
      config: { ...(typeof known === 'object' ? known : {}), ...change },
    })
    onTestFinished(node.close)
    const flags = { l2: node.engine.url, jwtPath: secretFile(), timeoutMs: 20_000 }
    const facts = await gatherEngine(flags, config, before)
    expect(facts.runs).toEqual(runs)
    expect(facts).toMatchObject({ chainId: 901n, client: 'devium-geth/test', genesisHash: config.genesis.l2.hash })
    expect(facts.methods).toContain('engine_getPayloadV5')
    const check = createEngineForkCheck({ rpc: node.engine, clock: new ManualClock(before * 1000) }, config)
    const problems = await Promise.all((['isthmus', 'karst'] as const).map((name) => check({ name, time: 0 })))
    const notReady = /^The engine devium-geth\/test is not ready for karst .* rules /
    expect(problems).toEqual([
      { isReady: true, problem: undefined },
      runs.karst ? { isReady: true, problem: undefined } : { isReady: false, problem: expect.stringMatching(notReady) },
    ])
    expect(node.unexpected).toEqual([])
  })
})

describe('Lagoon support of an engine', () => {
  const { genesis, rollup } = loadRecordedRpc('2026-holocene-to-karst-blobs')
  const config = parseRollupConfig({ ...Object(rollup), lagoon_time: 2_000_000_000 })
  const gather = async (lagoonTime: number | undefined) => {
    const node = await startExecutionNode({ ...genesis, config: { ...Object(genesis.config), lagoonTime } })
    onTestFinished(node.close)
    return queryEngine(node.engine, config, 1_999_999_999)
  }

  it("comes from devium-geth's answer about the activation time", async () => {
    expect((await gather(2_000_000_000)).runs.lagoon).toBe(true)
    expect((await gather(undefined)).runs.lagoon).toBe(false)
  })

  it.each([[{}], [null], [{ protocolActive: 'yes' }], ['active']])('is unknown after the answer %j', async (answer) => {
    expect(await probeFork({ request: async () => answer }, 'lagoon', 9)).toBeUndefined()
  })

  it('is unknown for an engine without the method', async () => {
    const refused = () => Promise.reject(new JsonRpcError(RPC_METHOD_NOT_FOUND, 'no such method'))
    expect(await probeFork({ request: refused }, 'lagoon', 9)).toBeUndefined()
  })
})

interface RecordedHeader {
  number: number
  amsterdam: boolean
  block: Record<string, unknown>
}

describe('gathering facts of L1', () => {
  const url = new URL('../../../../test/vectors/data/glamsterdam-headers.json.gz', import.meta.url)
  const headers: RecordedHeader[] = JSON.parse(gunzipSync(readFileSync(url)).toString())
  const config = testConfig()
  const headerOf = (isAmsterdam: boolean) => {
    const found = headers.find(({ amsterdam }) => amsterdam === isAmsterdam)
    if (found === undefined) throw new Error('no such header')
    return { transactions: [], ...found.block }
  }
  const serve = (head: object, others: object = {}) =>
    serveRpc({
      eth_chainId: '0x384',
      eth_getBlockByNumber: ([tag]: unknown[]) =>
        tag === 'latest' ? head : { hash: config.genesis.l1.hash.toUpperCase() },
      ...others,
    })

  it.each([true, false])('detects whether a verified head belongs to Glamsterdam: %s', async (isGlamsterdam) => {
    const { head, ...rest } = await gatherL1(await serve(headerOf(isGlamsterdam)), config)
    expect(head).toMatchObject({ isGlamsterdam })
    expect(rest).toMatchObject({ chainId: 900n, genesisHash: config.genesis.l1.hash.toLowerCase() })
    expect(rest).not.toHaveProperty('next')
  })

  it('reports a head with unknown fields or a wrong hash', async () => {
    const unknown = await serve({ ...headerOf(true), hash: `0x${'01'.repeat(32)}`, inclusionListRoot: '0x01' })
    expect(await gatherL1(unknown, config)).toMatchObject({
      headProblem: { code: 'unknown-fork', text: expect.stringContaining('inclusionListRoot') },
    })
    const wrong = await serve({ ...headerOf(true), hash: `0x${'01'.repeat(32)}` })
    expect(await gatherL1(wrong, config)).toMatchObject({ headProblem: { code: 'bad-answer' } })
  })

  it('reads announced forks', async () => {
    const eth_config = {
      current: { activationTime: 5, blobSchedule: { baseFeeUpdateFraction: 3_338_477 } },
      next: { activationTime: 9, blobSchedule: null },
    }
    expect(await gatherL1(await serve(headerOf(false), { eth_config }), config)).toMatchObject({
      current: { time: 5, updateFraction: 3_338_477n },
      next: { time: 9, updateFraction: undefined },
    })
  })

  it('reports a problem if nothing listens at the address', async () => {
    const { problem } = await gatherL1('http://user:secret@127.0.0.1:1/key', config)
    expect(problem).toEqual({ code: 'down', text: expect.stringMatching(/ECONNREFUSED/) })
    expect(problem?.text).not.toMatch(/secret|key/)
  })
})

describe('gathering facts of a beacon API', () => {
  const gather = (url: string, headBlock?: number) => gatherBeacon({ url }, Promise.resolve(headBlock))
  const FAR = '18446744073709551615'

  it('reads the schedule of its spec, and the way it serves blobs', async () => {
    const spec = {
      ...{ SLOTS_PER_EPOCH: '32', DEPOSIT_CHAIN_ID: '900', MIN_EPOCHS_FOR_BLOB_SIDECARS_REQUESTS: '4096' },
      ...{ FULU_FORK_EPOCH: '1', GLOAS_FORK_EPOCH: '2', HEZE_FORK_EPOCH: FAR },
      BLOB_SCHEDULE: [{ EPOCH: '3', MAX_BLOBS_PER_BLOCK: '15' }, 'odd'],
    }
    const { url } = await serveBeacon({ spec, slotsBehind: 3 })
    expect(await gather(url)).toEqual({
      ...{ url, version: 'test/v1', genesisTime: 1_000, slotLength: 12, depositChainId: 900n, slotsBehind: 3 },
      forks: [
        { name: 'fulu', time: 1_000 + 384 },
        { name: 'gloas', time: 1_000 + 2 * 384 },
      ],
      ...{ blobChanges: [1_000 + 3 * 384], retentionS: 4_096 * 384, serves: 'blobs' },
    })
  })

  it.each([
    ['the older form', { form: 'sidecars' }, { serves: 'sidecars' }],
    ['no length of slots', { spec: { SECONDS_PER_SLOT: undefined } }, { lacksSlotLength: true }],
    [
      'no spec, as Anvil',
      { secondsPerSlot: undefined, slots: new Map([[7, []]]) },
      { slotLength: null, serves: 'blobs' },
    ],
  ] as const)('accepts %s', async (_, change, expected) => {
    const { url } = await serveBeacon(change)
    expect(await gather(url, 7)).toMatchObject(expected)
  })

  it('reports a problem if an execution client or nothing listens at the address', async () => {
    const client = await serveRpc({ eth_chainId: '0x1', web3_clientVersion: 'Geth/v1.17' })
    expect(await gather(client)).toMatchObject({
      problem: { code: 'wrong-kind', text: 'it answers JSON-RPC (Geth/v1.17)' },
    })
    expect(await gather(NOBODY)).toMatchObject({
      problem: { code: 'down', text: expect.stringMatching(/ECONNREFUSED/) },
    })
  })
})

describe('gathering facts of a followed node', () => {
  const hash = `0x${'a2'.repeat(32)}`
  const block = (number: number) => {
    return { hash, number, parentHash: hash, timestamp: NOW - 20, l1origin: { hash, number: 1 }, sequenceNumber: 0 }
  }
  const STATUS = { current_l1: block(1), safe_l2: block(900), finalized_l2: block(800) }

  it('reads its chain and its safe head', async () => {
    const url = await serveRpc({ optimism_rollupConfig: { l2_chain_id: 901 }, optimism_syncStatus: STATUS })
    const safe = { number: 900, time: NOW - 20 }
    expect(await gatherFollowed(url, 5_000)).toEqual({ url, chainId: 901n, safe })
  })

  it('reports a problem if it has no safe head, is another program, or nothing listens at the address', async () => {
    const resetting = { ...STATUS, safe_l2: { ...block(0), hash: `0x${'00'.repeat(32)}` } }
    const url = await serveRpc({ optimism_rollupConfig: { l2_chain_id: 901 }, optimism_syncStatus: resetting })
    const problemOf = async (address: string) => (await gatherFollowed(address, 5_000)).problem
    expect(await problemOf(url)).toMatchObject({ code: 'down', text: expect.stringMatching(/no safe head now/) })
    expect(await problemOf(await serveRpc({ eth_chainId: '0x1' }))).toMatchObject({ code: 'wrong-kind' })
    expect(await problemOf(NOBODY)).toMatchObject({ code: 'down', text: expect.stringMatching(/ECONNREFUSED/) })
  })
})
