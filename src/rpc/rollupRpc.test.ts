import fc from 'fast-check'
import { Registry } from 'prom-client'
import { beforeEach, describe, expect, it } from 'vitest'
import { createCallContext } from '../jsonRpc/callContext.ts'
import { systemClock } from '../lib/clock.ts'
import { UsageError } from '../lib/errors.ts'
import { silentLogger } from '../lib/logger.ts'
import { propertyRuns } from '../lib/testUtils/propertyRuns.ts'
import { WAIT_LIMIT_MS } from '../lib/testUtils/until.ts'
import { payloadToJson } from '../rollup/protocol/index.ts'
import { EMPTY_PAYLOAD } from '../rollup/protocol/testUtils/payload.ts'
import { createRollupRpc, createRpcMetrics } from './index.ts'
import type { TestnetControl } from './rollupMethods.ts'
import { CONFIG_JSON, hash, RECORD, recorder } from './testUtils/recorder.ts'

const levels: string[] = []
const logger = { ...silentLogger, setLevel: (level: string) => void levels.push(level) }

let fixture: ReturnType<typeof recorder>
let call: (
  method: string,
  params?: unknown[],
  options?: { enableAdmin?: boolean; p2p?: boolean; testnet?: TestnetControl },
) => Promise<Record<string, unknown>>

beforeEach(() => {
  fixture = recorder()
  call = async (method, params = [], options = {}) => {
    const { dispatcher } = createRollupRpc(
      {
        node: fixture.node,
        p2p: options.p2p === false ? undefined : fixture.p2p,
        clock: systemClock,
        logger,
        metrics: createRpcMetrics(new Registry(), 'x'),
        testnet: options.testnet,
      },
      { version: 'v1.2.3', enableAdmin: options.enableAdmin ?? true },
    )
    const chunks = await dispatcher.handle(
      JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      createCallContext({ timeoutMs: WAIT_LIMIT_MS }),
    )
    const { id: _, jsonrpc: __, ...answer } = JSON.parse(chunks?.join('') ?? '{}')
    return answer
  }
})

const ref = (digit: string, number: number) => ({
  hash: hash(digit),
  number,
  parentHash: hash('f'),
  timestamp: 100 + number,
})
const ref2 = (digit: string, number: number) => ({
  ...ref(digit, number),
  l1origin: { hash: hash('e'), number: 1 },
  sequenceNumber: number,
})

describe('rollup methods', () => {
  const shared = {
    current_l1: ref('1', 1),
    current_l1_finalized: ref('4', 4),
    head_l1: ref('2', 2),
    safe_l1: ref('3', 3),
    finalized_l1: ref('4', 4),
    unsafe_l2: ref2('5', 5),
    safe_l2: ref2('6', 6),
    finalized_l2: ref2('7', 7),
    pending_safe_l2: ref2('8', 8),
  }

  it('devium_derivationStatus begins with one sentence, and has null for unknown values', async () => {
    expect(await call('devium_derivationStatus')).toMatchObject({
      result: {
        state: 'up-to-date',
        ok: true,
        text: expect.stringMatching(/^All known blocks are safe\. .*\.$/),
        l1: {
          head: ref('2', 2),
          headSeenAtMs: 9_000,
          derivedTo: ref('1', 1),
          endpoint: { url: 'http://l1', failures: 0 },
        },
        l2: { safe: ref2('6', 6), safeMovedAtMs: null, windowEndsAtL1Block: 3601 },
        ...{
          engine: { isSyncing: false, endpoint: null },
          blobs: null,
          channels: [],
          lastBatch: null,
          droppedBatches: [],
          reset: null,
        },
      },
    })
  })

  it('devium_testnetCommand has the testnet run a command, where the node is part of one', async () => {
    expect(await call('devium_testnetCommands')).toEqual({ result: null })
    expect(await call('devium_testnetCommand', [['heal']])).toMatchObject({
      error: { code: -32000, message: expect.stringContaining('--dashboard.testnet') },
    })
    const commands = [{ name: 'kill', words: 'PROGRAM', description: 'End a program' }]
    const run = async (words: readonly string[]) => {
      if (words[1] === 'nobody') throw new UsageError('there is no program "nobody"')
      return { command: words.join(' '), did: 'Killed.', lookAt: 'Look.' }
    }
    const callTestnet = (method: string, params: unknown[]) => call(method, params, { testnet: { commands, run } })
    expect(await callTestnet('devium_testnetCommands', [])).toEqual({ result: commands })
    expect(await callTestnet('devium_testnetCommand', [['kill', 'verifier1']])).toMatchObject({
      result: { command: 'kill verifier1', did: 'Killed.', lookAt: 'Look.' },
    })
    expect(await callTestnet('devium_testnetCommand', [['kill', 'nobody']])).toMatchObject({
      error: { message: 'there is no program "nobody"' },
    })
    for (const words of [[], 'heal', [1], ['x'.repeat(201)]]) {
      expect(await callTestnet('devium_testnetCommand', [words])).toMatchObject({ error: { code: -32602 } })
    }
  })

  it('devium_syncStatus has exactly the members of the document', async () => {
    expect(await call('devium_syncStatus')).toEqual({
      result: { ...shared, queued_unsafe_l2: ref2('9', 9), engine_sync_target: ref2('a', 10) },
    })
  })

  it('optimism_syncStatus has the ten members that op-node v1.19.6 has', async () => {
    expect(await call('optimism_syncStatus')).toEqual({
      result: { ...shared, local_safe_l2: ref2('6', 6) },
    })
  })

  it('outputAtBlock differs by namespace', async () => {
    expect(await call('devium_outputAtBlock', ['0x10'])).toEqual({ result: [hash('0'), hash('b')] })
    const { result } = (await call('optimism_outputAtBlock', ['0x10'])) as { result: Record<string, unknown> }
    expect(Object.keys(result)).toEqual([
      'version',
      'outputRoot',
      'blockRef',
      'withdrawalStorageRoot',
      'stateRoot',
      'syncStatus',
    ])
    expect(result.blockRef).toEqual(ref2('c', 12))
    expect(fixture.calls).toEqual([
      ['outputAtBlock', 16],
      ['outputAtBlock', 16],
    ])
  })

  it('devium_rollupConfig ends at Canyon, optimism_rollupConfig is the whole', async () => {
    const { delta_time: _, ecotone_time: __, ...upToCanyon } = CONFIG_JSON
    const { eip1559Params: ___, ...systemConfig } = CONFIG_JSON.genesis.system_config
    expect(await call('devium_rollupConfig')).toEqual({
      result: { ...upToCanyon, genesis: { ...CONFIG_JSON.genesis, system_config: systemConfig } },
    })
    expect(await call('optimism_rollupConfig')).toEqual({ result: CONFIG_JSON })
  })

  it('answers the version under three names', async () => {
    for (const name of ['devium_version', 'optimism_version', 'health_status'])
      expect(await call(name)).toEqual({ result: 'v1.2.3' })
  })

  it('passes on what the node refuses', async () => {
    for (const name of ['optimism_safeHeadAtL1Block', 'devium_safeHeadAtL1Block']) {
      expect(await call(name, ['0x5'])).toEqual({
        error: { code: -32000, message: 'failed to get safe head at l1 block 0x5: safe head database not enabled' },
      })
    }
  })

  it("gives a chain's super root in op-node's shape", async () => {
    const word = (digit: string) => `0x${digit.repeat(64)}`
    const requiredL1 = { hash: word('2'), number: 2 }
    expect(await call('superroot_atTimestamp', ['0x5'])).toEqual({
      result: {
        current_l1: { hash: word('1'), number: 1 },
        safe_timestamp: 6,
        local_safe_timestamp: 6,
        finalized_timestamp: 7,
        optimistic_at_timestamp: {
          901: {
            output: { stateRoot: word('e'), messagePasserStorageRoot: word('d'), blockHash: word('c') },
            output_root: word('b'),
            required_l1: requiredL1,
          },
        },
        chain_ids: ['901'],
        data: {
          verified_required_l1: requiredL1,
          super: { timestamp: '0x5', chains: [{ ChainID: '901', Output: word('b') }] },
          super_root: word('f'),
        },
      },
    })
  })
})

describe('p2p methods', () => {
  it('count topics as their namespace defines', async () => {
    const ours = { connected: 1, table: 2, blocksTopic: 3, blocksTopicV2: 4, banned: 7, known: 8 }
    expect(await call('deviump2p_peerStats')).toEqual({ result: { ...ours, banned: 9 } })
    expect(await call('opp2p_peerStats')).toEqual({ result: { ...ours, blocksTopicV3: 5, blocksTopicV4: 6 } })
  })

  it('show bans for a time among the banned, where op-node shows block lists only', async () => {
    const ours = await call('deviump2p_peers', [true])
    expect(ours).toMatchObject({ result: { bannedPeers: ['16Uiu2banned'], bannedIPS: ['1.2.3.4'] } })
    expect(ours).not.toHaveProperty('result.timeBans')
    const theirs = await call('opp2p_peers', [true])
    expect(theirs).toMatchObject({ result: { bannedPeers: [], bannedIPS: ['1.2.3.4'] } })
    expect(theirs).not.toHaveProperty('result.timeBans')
  })

  it('write subnets as CIDR text or as IPNet', async () => {
    expect(await call('deviump2p_listBlockedSubnets')).toEqual({ result: ['10.1.0.0/16', 'fd00::/8'] })
    expect(await call('opp2p_listBlockedSubnets')).toEqual({
      result: [
        { IP: '10.1.0.0', Mask: '//8AAA==' },
        { IP: 'fd00::', Mask: '/wAAAAAAAAAAAAAAAAAAAA==' },
      ],
    })
    expect((await call('deviump2p_peers', [true])).result).toMatchObject({
      totalConnected: 1,
      bannedSubnets: ['10.0.0.0/8'],
    })
    expect((await call('opp2p_peers', [false])).result).toMatchObject({
      bannedSubnets: [{ IP: '10.0.0.0', Mask: '/wAAAA==' }],
    })
    expect(fixture.calls).toContainEqual(['peers', true])
  })

  it('answers why a peer has its score: one report, or a list of all', async () => {
    const id = RECORD.peerID
    expect(await call('deviump2p_peerScore', [id])).toEqual({ result: { peerID: id, total: -12 } })
    expect(await call('deviump2p_peerScore')).toEqual({ result: [{ peerID: id, total: -12 }] })
    expect(await call('deviump2p_peerHistory', [id])).toEqual({ result: { peerID: id, events: [] } })
    expect(await call('deviump2p_peerHistory', [null])).toEqual({ result: [{ peerID: id, events: [] }] })
    expect(fixture.calls).toEqual([
      ['peerScore', id],
      ['peerScore', undefined],
      ['peerHistory', id],
      ['peerHistory', undefined],
    ])
    expect((await call('deviump2p_bans')).result).toEqual([
      { subject: id, kind: 'peer', reason: 'score', untilMs: 5_000, remainingS: 3 },
    ])
    expect(await call('deviump2p_peerScore', [5])).toMatchObject({ error: { code: -32602 } })
    expect(await call('deviump2p_health')).toEqual({ result: { state: 'no-peers', ok: false } })
    for (const method of ['peerScore', 'peerHistory', 'bans', 'health']) {
      expect(await call(`opp2p_${method}`)).toMatchObject({ error: { code: -32601 } })
    }
  })
  it.each(['deviump2p', 'opp2p'])('%s_blockSubnet reads both forms', async (namespace) => {
    expect(await call(`${namespace}_blockSubnet`, ['10.1.0.0/16'])).toEqual({ result: null })
    expect(await call(`${namespace}_blockSubnet`, [{ IP: '10.1.0.0', Mask: '//8AAA==' }])).toEqual({ result: null })
    expect(fixture.calls).toEqual([
      ['blockSubnet', '10.1.0.0/16'],
      ['blockSubnet', '10.1.0.0/16'],
    ])
  })

  it.each(['opp2p', 'deviump2p'])('%s_… calls the host as its name says', async (namespace) => {
    const actions: [string, string][] = [
      ...['blockPeer', 'unblockPeer', 'protectPeer', 'unprotectPeer', 'disconnectPeer'].map(
        (name): [string, string] => [name, RECORD.peerID],
      ),
      ...['blockAddr', 'unblockAddr'].map((name): [string, string] => [name, '10.1.0.1']),
      ...['blockSubnet', 'unblockSubnet'].map((name): [string, string] => [name, '10.1.0.0/16']),
      ['connectPeer', RECORD.addresses?.[0] ?? ''],
    ]
    for (const [name, param] of actions) {
      expect(await call(`${namespace}_${name}`, [param])).toEqual({ result: null })
    }
    expect(fixture.calls).toEqual(actions)
    expect(await call(`${namespace}_listBlockedPeers`)).toEqual({ result: [RECORD.peerID] })
    expect(await call(`${namespace}_listBlockedAddrs`)).toEqual({ result: [] })
    expect(await call(`${namespace}_self`)).toMatchObject({ result: { peerID: RECORD.peerID } })
  })

  it('are unknown when p2p is off', async () => {
    expect(await call('opp2p_self', [], { p2p: false })).toEqual({
      error: { code: -32601, message: 'the method opp2p_self does not exist/is not available' },
    })
  })

  it.each(['opp2p', 'deviump2p'])('%s_peers reads null as false', async (namespace) => {
    await call(`${namespace}_peers`, [null])
    expect(fixture.calls).toEqual([['peers', false]])
  })

  const NOTHING = { code: -32000, message: 'invalid request' }
  const NO_ADDRESS = { code: -32000, message: 'bad peer address: failed to parse multiaddr "": empty multiaddr' }
  it.each([
    ...['blockAddr', 'unblockAddr'].flatMap((method) => [null, ''].map((param) => [method, param, NOTHING] as const)),
    ...['blockSubnet', 'unblockSubnet'].flatMap((method) =>
      [null, {}, { IP: '10.0.0.0' }, { Mask: '/wAAAA==' }, { IP: '', Mask: '' }].map(
        (param) => [method, param, NOTHING] as const,
      ),
    ),
    ['connectPeer', null, NO_ADDRESS],
    ['connectPeer', '', NO_ADDRESS],
  ] as const)('opp2p_%s(%j) refuses an empty value as op-node does', async (method, param, error) => {
    expect(await call(`opp2p_${method}`, [param])).toEqual({ error })
    expect(await call(`deviump2p_${method}`, [param])).toMatchObject({ error: { code: -32602 } })
    expect(fixture.calls).toEqual([])
  })

  it.each([
    ['blockAddr', {}],
    ['blockSubnet', { IP: 5 }],
    ['connectPeer', {}],
  ] as const)('opp2p_%s(%j) names the expected value', async (method, param) => {
    expect(await call(`opp2p_${method}`, [param])).toMatchObject({ error: { code: -32602 } })
  })

  it('keep the errors of op-node', async () => {
    expect(await call('opp2p_discoveryTable')).toEqual({ error: { code: -32000, message: 'discovery disabled' } })
    expect(await call('opp2p_blockPeer', ['xx'])).toEqual({
      error: { code: -32602, message: 'invalid argument 0: failed to parse peer ID' },
    })
  })
})

describe('admin methods', () => {
  it('queue a block with the beacon root that is given, or without', async () => {
    const executionPayload = payloadToJson(EMPTY_PAYLOAD)
    const parentBeaconBlockRoot = hash('7')
    for (const root of [{}, { parentBeaconBlockRoot: null }, { parentBeaconBlockRoot }]) {
      expect(await call('admin_postUnsafePayload', [{ ...root, executionPayload }])).toEqual({ result: null })
    }
    const payload = EMPTY_PAYLOAD
    expect(fixture.calls).toEqual([
      ['post', { payload }],
      ['post', { payload }],
      ['post', { parentBeaconBlockRoot, payload }],
    ])
    for (const wrong of [null, [], {}, { executionPayload, parentBeaconBlockRoot: '0x12' }]) {
      expect(await call('admin_postUnsafePayload', [wrong])).toMatchObject({ error: { code: -32602 } })
    }
  })

  it('reset derivation', async () => {
    expect(await call('admin_resetDerivationPipeline')).toEqual({ result: null })
    expect(fixture.calls).toEqual([['reset']])
  })

  it('are unknown unless enabled', async () => {
    for (const method of ['admin_sequencerActive', 'devium_note']) {
      expect((await call(method, ['x'], { enableAdmin: false })).error).toMatchObject({ code: -32601 })
    }
    expect(await call('admin_sequencerActive')).toEqual({ result: true })
  })

  it('start on a given head or on the present one', async () => {
    expect(await call('admin_startSequencer', [])).toEqual({ result: null })
    expect(await call('admin_startSequencer', [hash('A')])).toEqual({ result: null })
    expect(fixture.calls).toEqual([
      ['start', undefined],
      ['start', hash('a')],
    ])
    expect(await call('admin_stopSequencer')).toEqual({ result: hash('5') })
  })

  it('report the conductor, and override it', async () => {
    expect(await call('admin_conductorEnabled')).toEqual({ result: true })
    expect(await call('admin_overrideLeader')).toEqual({ result: null })
    expect(await call('admin_setRecoverMode', [true])).toEqual({ result: null })
    expect(await call('admin_setRecoverMode', [])).toMatchObject({ error: { code: -32602 } })
    expect(fixture.calls).toEqual([['overrideLeader'], ['setRecoverMode', true]])
  })

  it('opt in to refunds of gas, and report it for a timestamp', async () => {
    expect(await call('admin_setSdmPostExecOptIn', [true])).toEqual({ result: null })
    const status = { postExecOptIn: true, protocolActive: false, effective: false, activationTime: 1_700_000_000 }
    expect(await call('admin_sdmStatus')).toEqual({ result: status })
    expect(await call('admin_sdmStatus', [7])).toEqual({ result: status })
    expect(await call('admin_sdmStatus', ['0x10'])).toEqual({ result: status })
    expect(await call('admin_sdmStatus', [-1])).toMatchObject({ error: { code: -32602 } })
    expect(await call('admin_setSdmPostExecOptIn', ['on'])).toMatchObject({ error: { code: -32602 } })
    expect(fixture.calls).toEqual([
      ['setSdmPostExecOptIn', true],
      ...[undefined, 7, 16].map((timestamp) => ['sdmStatus', timestamp]),
    ])
  })

  it("take op-node's short names of log levels", async () => {
    levels.length = 0
    for (const level of ['trce', 'DBUG', 'info', 'warn', 'eror', 'crit'])
      expect(await call('admin_setLogLevel', [level])).toEqual({ result: null })
    expect(levels).toEqual(['trace', 'debug', 'info', 'warn', 'error', 'crit'])
  })
})

describe('metrics', () => {
  it('count bytes of parameters and results as op-node does', async () => {
    const registry = new Registry()
    const { dispatcher } = createRollupRpc(
      { node: fixture.node, clock: systemClock, logger, metrics: createRpcMetrics(registry, 'x') },
      { version: 'vé', enableAdmin: false },
    )
    const calls = [
      { jsonrpc: '2.0', id: 1, method: 'optimism_version', params: [] },
      { jsonrpc: '2.0', id: 2, method: 'optimism_version' },
      { jsonrpc: '2.0', id: 3, method: 'optimism_outputAtBlock', params: ['x'] },
    ]
    await dispatcher.handle(JSON.stringify(calls), createCallContext({ timeoutMs: WAIT_LIMIT_MS }))
    const lines = (await registry.metrics()).split('\n').filter((line) => /^x_rpc_server_(params|results)_/.test(line))
    expect(lines).toEqual([
      'x_rpc_server_params_size_total{rpc="main",method="optimism_version"} 2',
      'x_rpc_server_params_size_total{rpc="main",method="optimism_outputAtBlock"} 5',
      'x_rpc_server_results_size_total{rpc="main",method="optimism_version"} 10',
    ])
  })

  it('measure a call with deeply nested parameters', async () => {
    const deep = `${'['.repeat(199)}${']'.repeat(199)}`
    const { dispatcher } = createRollupRpc(
      { node: fixture.node, clock: systemClock, logger, metrics: createRpcMetrics(new Registry(), 'x') },
      { version: 'v', enableAdmin: false },
    )
    const body = `{"jsonrpc":"2.0","id":1,"method":"optimism_version","params":${deep}}`
    const answer = await dispatcher.handle(body, createCallContext({ timeoutMs: WAIT_LIMIT_MS }))
    expect(answer?.join('')).toContain('-32602')
  })
})

describe('parameter checks', () => {
  const cases = [
    {
      method: 'devium_outputAtBlock',
      params: [],
      message: /\bargument 0\b.*\bblock number\b.*\bhex\b/,
    },
    {
      method: 'devium_outputAtBlock',
      params: [1],
      message: /\bargument 0\b.*\bblock number\b.*\b1$/,
    },
    { method: 'devium_outputAtBlock', params: ['0x1', 2], message: /\b1$/ },
    { method: 'deviump2p_peers', params: ['yes'], message: /\bargument 0\b.*\bconnected\b/ },
    { method: 'deviump2p_blockPeer', params: [''], message: /\bargument 0\b.*\bpeer id\b/ },
    { method: 'deviump2p_blockPeer', params: ['x'.repeat(5000)], message: /\bargument 0\b/ },
    { method: 'deviump2p_blockSubnet', params: [null], message: /\bargument 0\b.*\bCIDR\b/ },
    { method: 'deviump2p_blockSubnet', params: [{ IP: 5 }], message: /\bargument 0\b/ },
    {
      method: 'admin_startSequencer',
      params: ['0x12'],
      message: /\bargument 0\b.*\bunsafe head\b.*\bhash\b/,
    },
    { method: 'admin_postUnsafePayload', params: [{}], message: /\bargument 0\b/ },
    { method: 'admin_setLogLevel', params: ['loud'], message: /\blevel\b.*\btrace\b/ },
    { method: 'devium_version', params: [1], message: /\b0$/ },
  ]
  it.each(cases)('$method($params)', async ({ method, params, message }) => {
    const { error } = (await call(method, params)) as { error: { code: number; message: string } }
    expect(error.code).toBe(-32602)
    expect(error.message).toMatch(message)
  })

  it('answer any JSON with a result or a considered error, never -32603', async () => {
    const { methods } = createRollupRpc(
      { node: fixture.node, p2p: fixture.p2p, clock: systemClock, logger },
      { version: 'v', enableAdmin: true },
    )
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...methods),
        fc.array(fc.jsonValue(), { maxLength: 2 }),
        async ({ name }, params) => {
          const { error } = (await call(name, params)) as { error?: { code: number } }
          expect(error?.code).not.toBe(-32603)
        },
      ),
      { numRuns: propertyRuns(500) },
    )
  })
})
