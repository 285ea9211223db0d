import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { createRpcApp, type HttpServerHandle, serveApp } from '../../jsonRpc/httpServer.ts'
import { createRpcDispatcher, type RpcHandler } from '../../jsonRpc/server.ts'
import { invalidParams, type JsonValue } from '../../jsonRpc/types.ts'
import { RECORD } from '../../rpc/testUtils/recorder.ts'
import { derivationAnswer } from '../testUtils/derivationAnswer.ts'
import { scoreReport } from '../testUtils/peerAnswers.ts'
import { runCommand } from '../testUtils/runCommand.ts'
import { createDeviumCommand } from './deviumCommand.ts'

const PEER = '16Uiu2HAm5UcGBcvZtAYgnANxy7LGgmsAaC3HoKN8tcuH6Hyr2Er8'
const GONE = '16Uiu2HAmKqGeKTMPTnYYJLvigPzgV1cRxfHMfZaWzjK7EPUKquLy'
const OWN = '16Uiu2HAmADrpFPMbpbpbaELPYfu7qgWKEPkHqiv3EZVXBseMmDcG'

const calls: [string, readonly JsonValue[]][] = []
const answer =
  (method: string, result: unknown): RpcHandler =>
  (params) => {
    calls.push([method, params])
    return result
  }

const peerInfo = (peerID: string, connectedness: number) => ({
  ...RECORD,
  ...{ peerID, userAgent: 'optimism', connectedness, direction: 1, protected: true, latency: 1_500_000 },
  addresses: [`/ip4/127.0.0.1/tcp/9222/p2p/${peerID}`],
  gossipBlocks: true,
  scores: { ...RECORD.scores, gossip: { ...RECORD.scores.gossip, total: -12 } },
})
const PEERS = {
  totalConnected: 1,
  peers: { [OWN]: peerInfo(OWN, 0), [GONE]: peerInfo(GONE, 0), [PEER]: peerInfo(PEER, 1) },
  bannedPeers: [],
  bannedIPS: ['1.2.3.4'],
  bannedSubnets: [],
}

const HISTORY = { peerID: PEER, events: [] }

/** Answers like a rollup node and records the requests. These tests concern the tool, not the node. */
async function startServer(): Promise<HttpServerHandle> {
  const handlers: [string, RpcHandler][] = [
    ['devium_version', answer('devium_version', 'v9.9.9')],
    ['devium_derivationStatus', answer('devium_derivationStatus', derivationAnswer())],
    ['deviump2p_peers', answer('deviump2p_peers', PEERS)],
    ['deviump2p_self', answer('deviump2p_self', { peerID: OWN, addresses: [] })],
    ['deviump2p_standings', answer('deviump2p_standings', [{ peerID: PEER, static: true }])],
    [
      'deviump2p_peerScore',
      (params) => {
        calls.push(['deviump2p_peerScore', params])
        return params.length === 0 ? [scoreReport({ peerID: PEER })] : scoreReport({ peerID: PEER })
      },
    ],
    [
      'deviump2p_peerHistory',
      (params) => {
        calls.push(['deviump2p_peerHistory', params])
        return params.length === 0 ? [HISTORY] : HISTORY
      },
    ],
    ['deviump2p_bans', answer('deviump2p_bans', [])],
    ['deviump2p_accessRules', answer('accessRules', { not: 'rules' })],
    ...['block', 'blockPeer', 'unblockPeer', 'unblockAddr', 'protectPeer'].map((name): [string, RpcHandler] => [
      `deviump2p_${name}`,
      answer(name, null),
    ]),
    ['deviump2p_listBlockedSubnets', answer('listBlockedSubnets', ['10.0.0.0/8', 'fe80::/10'])],
    ['deviump2p_connectPeer', () => Promise.reject(invalidParams('invalid argument 0: bad peer address'))],
  ]
  const dispatcher = createRpcDispatcher({ methods: new Map(handlers) })
  return serveApp(createRpcApp({ dispatcher }), '127.0.0.1', 0, 'test')
}

const server = await startServer()
afterAll(() => server.close())

const devium = (...args: string[]) => runCommand(createDeviumCommand, args, { DEVIUM_RPC: server.url })

describe('devium', () => {
  it('derive status begins with the reason for the position of the safe head', async () => {
    const { stdout, code } = await devium('derive', 'status')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^derivation: batches-dropped\nThe safe head does not move because /)
    expect(JSON.parse((await devium('derive', 'status', '--json')).stdout)).toEqual(derivationAnswer())
  })

  it('derive status queries the submitter of DEVIUM_BATCHER_RPC if the node has none configured', async () => {
    let running = false
    const waiting = { ...derivationAnswer(), state: 'waiting-for-batches', ok: true, text: 'It waits.', command: null }
    const dispatcher = createRpcDispatcher({
      methods: new Map<string, RpcHandler>([
        ['devium_derivationStatus', () => waiting],
        ['admin_batcherStatus', () => ({ ok: running, why: 'as told', running })],
      ]),
    })
    const both = await serveApp(createRpcApp({ dispatcher }), '127.0.0.1', 0, 'test')
    onTestFinished(both.close)
    vi.stubEnv('DEVIUM_BATCHER_RPC', both.url)
    onTestFinished(() => void vi.unstubAllEnvs())
    const args = ['derive', 'status', '--rpc', both.url]
    expect((await devium(...args)).stdout).toContain(
      'It waits. The batch submitter is stopped.\n  → devium batcher start\n',
    )
    running = true
    expect((await devium(...args)).stdout).not.toContain('stopped')
    vi.stubEnv('DEVIUM_BATCHER_RPC', 'http://127.0.0.1:1')
    expect(await devium(...args)).toMatchObject({ code: 0, stdout: expect.stringMatching(/\nIt waits\.\n\n/) })
  })

  it('sends the token of --token-file', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'devium-token-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const token = 'a-token-of-some-length'
    const file = join(folder, 'token')
    writeFileSync(file, token, { mode: 0o600 })
    const dispatcher = createRpcDispatcher({ methods: new Map([['x_version', () => 'v1']]) })
    const app = createRpcApp({ dispatcher, access: { token, guardsReading: true } })
    const guarded = await serveApp(app, '127.0.0.1', 0, 'test')
    onTestFinished(guarded.close)
    const args = ['rpc', 'x_version', '--rpc', guarded.url]
    expect((await devium(...args)).stderr).toContain('HTTP 401')
    expect((await devium(...args, '--token-file', file)).stdout).toContain('v1')
  })

  it.each([
    ['history', 'no recorded events'],
    ['bans', 'no active bans'],
    ['blocks', 'does not answer like a devium node'],
    ['stats', 'opp2p_peerStats'],
  ])('%s works without the prefix p2p', async (name, text) => {
    const [short, long] = await Promise.all([devium(name), devium('p2p', name)])
    expect(short.stdout + short.stderr).toContain(text)
    expect(short).toEqual(long)
  })

  it('peers shows one line per peer except itself, and the blocked addresses', async () => {
    calls.length = 0
    const { stdout } = await devium('peers', '--all')
    expect(calls.toSorted()).toEqual([
      ['deviump2p_peers', [false]],
      ['deviump2p_self', []],
      ['deviump2p_standings', []],
    ])
    expect(stdout).toContain('1 connected\n1 blocked or banned: 1.2.3.4')
    expect(stdout).toMatch(
      new RegExp(
        `${PEER} +inbound +-12 +blocks +static +1.5 ms +/ip4/127.0.0.1/tcp/9222 optimism\n${GONE} +- .* protected `,
      ),
    )
    expect(stdout).not.toContain(OWN)
  })

  it.each([[PEER], [PEER.slice(0, 20)], [`…${PEER.slice(-8)}`]])('explain finds the peer by %s', async (given) => {
    const { stdout, code } = await devium('p2p', 'explain', given)
    expect(code).toBe(0)
    expect(calls.slice(-2)).toEqual([
      ['deviump2p_peerScore', [PEER]],
      ['deviump2p_peerHistory', [PEER]],
    ])
    expect(stdout).toContain(`${PEER}\nscore 4, main reason: requests answered with good blocks\nconnected\n`)
    expect(stdout).toContain('no recorded events')
  })

  it('explain without a peer has one line per peer', async () => {
    const { stdout } = await devium('explain')
    expect(stdout).toMatch(/…6Hyr2Er8 +4 +good +requests answered with good blocks\n/)
    expect(JSON.parse((await devium('explain', '--json')).stdout)).toEqual([scoreReport({ peerID: PEER })])
  })

  it.each([
    { args: ['block', PEER], call: ['block', [PEER]] },
    { args: ['block', '10.0.0.1'], call: ['block', ['10.0.0.1']] },
    { args: ['block', 'fe80::1'], call: ['block', ['fe80::1']] },
    { args: ['block', '10.0.0.0/8'], call: ['block', ['10.0.0.0/8']] },
    { args: ['unblock', PEER], call: ['unblockPeer', [PEER]] },
    { args: ['protect', PEER], call: ['protectPeer', [PEER]] },
  ])('$args.0 $args.1 calls $call.0', async ({ args, call }) => {
    const { code, stdout } = await devium(...args)
    expect(code).toBe(0)
    expect(calls).toContainEqual(call)
    expect(stdout).toContain(String(args[1]))
  })

  it('block requires a confirmation for all addresses; --yes confirms', async () => {
    calls.length = 0
    const unconfirmed = await devium('block', '0.0.0.0/0')
    expect(unconfirmed).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'devium: 0.0.0.0/0 covers all IPv4 addresses. Blocking it disconnects 0 of 1 connected peer. To confirm, add --yes.\n',
    })
    expect(calls.map(([method]) => method)).not.toContain('block')
    expect((await devium('p2p', 'block', '0.0.0.0/0', '--yes')).code).toBe(0)
    expect(calls).toContainEqual(['block', ['0.0.0.0/0']])
  })

  it('unblock names other blocks that still apply', async () => {
    expect((await devium('unblock', '11.0.0.1')).stdout).toBe('11.0.0.1 is no longer blocked or banned\n')
    const left =
      '10.0.0.1 was removed from the block list, but is still refused: it belongs to the blocked subnet 10.0.0.0/8\n'
    expect((await devium('unblock', '10.0.0.1')).stdout).toBe(left)
  })

  it('rpc accepts JSON and plain text', async () => {
    expect((await devium('rpc', 'devium_version')).stdout).toBe('"v9.9.9"\n')
    calls.length = 0
    await devium('rpc', 'deviump2p_peers', 'true')
    await devium('rpc', 'deviump2p_blockPeer', PEER)
    expect(calls).toEqual([
      ['deviump2p_peers', [true]],
      ['blockPeer', [PEER]],
    ])
  })

  it.each([
    { args: ['connect', '/bad'], stderr: 'devium: invalid argument 0: bad peer address\n' },
    { args: ['rpc', 'no_such'], stderr: 'devium: the method no_such does not exist/is not available\n' },
    {
      args: ['status', '--rpc', 'nonsense'],
      stderr: 'devium: --rpc: expected an http address such as http://127.0.0.1:9545\n',
    },
    {
      args: ['status', '--rpc', 'http://127.0.0.1:1'],
      stderr:
        'devium: no node answers at http://127.0.0.1:1 (connection refused). Set its RPC address with --rpc or DEVIUM_RPC\n',
    },
    {
      args: ['batcher', 'stop', '--rpc', 'http://127.0.0.1:1'],
      stderr:
        'devium: no batch submitter answers at http://127.0.0.1:1 (connection refused). Set its RPC address with --rpc or DEVIUM_BATCHER_RPC\n',
    },
    { args: ['stauts'], stderr: "devium: unknown command 'stauts' (Did you mean one of stats, status?)\n" },
    {
      args: ['explain', 'xyz'],
      stderr: 'devium: no known peer id begins or ends with "xyz". List the known peers: devium peers --all\n',
    },
    { args: ['explain', 'x'], stderr: 'devium: "x": expected at least 3 characters of the peer id\n' },
    {
      args: ['p2p', 'blocks'],
      stderr:
        /^devium: http:\/\/\S+ does not answer like a devium node at blocks: Invalid input: expected array, received undefined\n$/,
    },
    // This server lacks the method, like a node with p2p disabled.
    {
      args: ['p2p', 'health'],
      stderr:
        /^devium: the method deviump2p_health does not exist\/is not available: the node at http:\/\/\S+ runs with --p2p.disable, or is not devium\n$/,
    },
    { args: ['p2p', 'explan'], stderr: "devium: unknown command 'explan' (Did you mean explain?)\n" },
    {
      args: ['status', '--rcp=http://127.0.0.1:9510'],
      stderr: "devium: unknown option '--rcp' (Did you mean --rpc?)\n",
    },
    { args: ['p2p', 'peers', '--al'], stderr: "devium: unknown option '--al' (Did you mean --all?)\n" },
  ])('$args prints one clear line and exits with 1', async ({ args, stderr }) => {
    const expected = typeof stderr === 'string' ? stderr : expect.stringMatching(stderr)
    expect(await devium(...args)).toEqual({ code: 1, stdout: '', stderr: expected })
  })
})
