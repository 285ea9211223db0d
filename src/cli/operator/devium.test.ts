import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { createRpcApp, type HttpServerHandle, serveApp } from '../../jsonRpc/httpServer.ts'
import { createRpcDispatcher, type RpcHandler } from '../../jsonRpc/server.ts'
import { invalidParams, type JsonValue } from '../../jsonRpc/types.ts'
import { textOf } from '../shared/terminal/styledLine.ts'
import { derivationAnswer } from '../testUtils/derivationAnswer.ts'
import { scoreReport } from '../testUtils/peerAnswers.ts'
import { runCommand } from '../testUtils/runCommand.ts'
import { createDeviumCommand } from './deviumCommand.ts'
import { statusLines, statusTable } from './status/statusView.ts'

const PEER = '16Uiu2HAm5UcGBcvZtAYgnANxy7LGgmsAaC3HoKN8tcuH6Hyr2Er8'
const GONE = '16Uiu2HAmKqGeKTMPTnYYJLvigPzgV1cRxfHMfZaWzjK7EPUKquLy'
const OWN = '16Uiu2HAmADrpFPMbpbpbaELPYfu7qgWKEPkHqiv3EZVXBseMmDcG'

const ref = (number: number) => ({ hash: `0x${'ab'.repeat(32)}`, number, timestamp: 1_700_000_000 + number })
const NONE = { hash: `0x${'0'.repeat(64)}`, number: 0, timestamp: 0 }
const STATUS = {
  current_l1: ref(9),
  head_l1: ref(10),
  safe_l1: ref(8),
  finalized_l1: NONE,
  unsafe_l2: ref(20),
  safe_l2: ref(15),
  finalized_l2: NONE,
  pending_safe_l2: ref(16),
  queued_unsafe_l2: NONE,
}

const HEALTH = {
  ...{ state: 'healthy', ok: true, sinceMs: 0, text: 'Sequencer is healthy. It sealed block 20.', causes: [] },
  node: { name: 'a', role: 'sequencer', version: 'v9.9.9', chainId: '901', network: 'my-chain', peerID: OWN },
  sequencer: { active: true, conductor: false },
}
const STOPPED = {
  ...HEALTH,
  ...{ state: 'stopped', ok: false, text: 'Sequencer is stopped. An operator has stopped the sequencer.' },
  causes: [
    {
      ...{ code: 'sequencer-stopped', text: 'An operator has stopped the sequencer.', sinceMs: 0 },
      command: 'devium sequencer start',
    },
    { code: 'l1-down', text: 'L1 is down\u001b[2J.', sinceMs: null, command: null },
  ],
}

const calls: [string, readonly JsonValue[]][] = []
const answer =
  (method: string, result: unknown): RpcHandler =>
  (params) => {
    calls.push([method, params])
    return result
  }

const peerInfo = (peerID: string, connectedness: number) => ({
  peerID,
  userAgent: 'optimism',
  addresses: [`/ip4/127.0.0.1/tcp/9222/p2p/${peerID}`],
  connectedness,
  direction: 1,
  protected: true,
  gossipBlocks: true,
  latency: 1_500_000,
  scores: { gossip: { total: -12 } },
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
    ['devium_health', answer('devium_health', HEALTH)],
    ['devium_syncStatus', answer('devium_syncStatus', STATUS)],
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
  it('status opens with the verdict, and names the node and its heads', async () => {
    const { stdout, code } = await devium('status')
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /^Sequencer is healthy\. It sealed block 20\.\n\nchain {4}901 \(my-chain\)\nrole {5}sequencer\n/,
    )
    expect(stdout).toContain(`\nnode     a\npeer id  ${OWN}\nversion  devium v9.9.9\n`)
    expect(stdout).toMatch(/L2 unsafe\s+20\s+0xabab…abab/)
    expect(stdout).toMatch(/L2 finalized\s+-\s+not seen yet/)
  })

  it('status of a node that is not healthy names each cause and what ends it, and exits with 3', async () => {
    const dispatcher = createRpcDispatcher({
      methods: new Map<string, RpcHandler>([
        ['devium_health', () => STOPPED],
        ['devium_syncStatus', () => STATUS],
      ]),
    })
    const stopped = await serveApp(createRpcApp({ dispatcher }), '127.0.0.1', 0, 'test')
    onTestFinished(stopped.close)
    const { stdout, code } = await devium('status', '--rpc', stopped.url)
    expect(code).toBe(3)
    expect(stdout).toMatch(
      new RegExp(
        `^Sequencer is stopped. An operator has stopped the sequencer.\n  → devium sequencer start --rpc ${stopped.url}\nL1 is down\\?\\[2J.\n\n`,
      ),
    )
    const json = await devium('status', '--json', '--rpc', stopped.url)
    expect(json.code).toBe(3)
    expect(JSON.parse(json.stdout)).toEqual({ rpc: stopped.url, health: STOPPED, ...STATUS, peers: null, bans: null })

    const unreachable = 'http://127.0.0.1:1'
    const several = await devium('status', '--rpc', `${server.url},${stopped.url}, ${unreachable}`)
    expect(several.code).toBe(3)
    expect(several.stdout).toMatch(/^node .*\na +healthy +sequencer +901 +20 +15 +- +- +…\w{8}\n/)
    expect(several.stdout).toMatch(/\na +stopped +sequencer .*\nhttp:\/\/127\.0\.0\.1:1 +no answer +-/)
    expect(several.stdout).toMatch(
      new RegExp(
        `\\n\\na: An operator has stopped the sequencer\\.\\n {2}→ devium sequencer start --rpc ${stopped.url}\\na: L1 is down\\?\\[2J\\.\\n\\nhttp://127.0.0.1:1: .*\\(connection refused\\)\\n$`,
      ),
    )
    const [first] = STOPPED.causes
    const waiting = { ...STOPPED, causes: [{ ...first, command: 'devium sequencer status --rpc <the sequencer>' }] }
    const rows = [HEALTH, waiting].map((health, index) => ({
      rpc: `http://${index}`,
      answers: { health, heads: STATUS, peers: undefined },
    }))
    expect(statusTable(rows).map(textOf).at(-1)).toBe('  → devium sequencer status --rpc http://0')
    const all = JSON.parse((await devium('status', '--json', '--rpc', `${server.url},${unreachable}`)).stdout)
    expect(all).toMatchObject([{ health: HEALTH }, { rpc: unreachable, problem: expect.stringContaining('refused') }])
    const withPassword = server.url.replace('//', '//user:pass,word@')
    const twice = await devium('status', '--rpc', `${server.url},${withPassword}`)
    expect(twice).toMatchObject({ code: 0, stdout: expect.not.stringContaining('pass') })
    expect((await devium('status', '--rpc', withPassword)).stdout).toMatch(/^Sequencer is healthy/)
  })

  it('status shows the heads and peers of a node of another client', async () => {
    const { queued_unsafe_l2: _, ...heads } = STATUS
    const dispatcher = createRpcDispatcher({
      methods: new Map<string, RpcHandler>([
        ['optimism_syncStatus', () => heads],
        ['optimism_version', () => 'v1.19.0'],
        ['opp2p_self', () => ({ peerID: OWN })],
        ['opp2p_peerStats', () => ({ connected: 4, known: 5, banned: 0 })],
      ]),
    })
    const other = await serveApp(createRpcApp({ dispatcher }), '127.0.0.1', 0, 'test')
    onTestFinished(other.close)
    const { stdout, code } = await devium('status', '--rpc', other.url)
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /^This node is another client, .*\n\npeer id +16Uiu2\w+\npeers +4 connected.*\nversion +v1\.19\.0\n/,
    )
    expect(stdout).toMatch(/\nL2 unsafe +20 /)
    const several = await devium('status', '--rpc', `${server.url},${other.url}`)
    expect(several.code).toBe(0)
    expect(several.stdout).toMatch(/\nhttp:\S+ +no verdict +- +- +20 +15 +- +4 +…\w{8}\n/)
    const json = JSON.parse((await devium('status', '--json', '--rpc', other.url)).stdout)
    expect(json).toMatchObject({ health: null, unsafe_l2: { number: 20 }, peers: { connected: 4 } })
  })

  it('status --dir asks all nodes of a testnet', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'devium-testnet-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    expect(await devium('status', '--dir', folder)).toMatchObject({
      ...{ code: 1, stdout: '' },
      stderr: expect.stringMatching(/^devium: --dir \S+: no testnet runs there \(\S+addresses\.json does not/),
    })
    const nodes = [{ name: 'sequencer', rollupRpc: server.url }]
    writeFileSync(join(folder, 'addresses.json'), JSON.stringify({ nodes }))
    const { stdout, code } = await devium('status', '--dir', folder)
    expect(code).toBe(0)
    expect(stdout).toMatch(/\nsequencer +healthy /)
  })

  it('derive status says in one sentence why the safe head stands where it does', async () => {
    const { stdout, code } = await devium('derive', 'status')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^derivation: batches-dropped\nThe safe head does not move because /)
    expect(JSON.parse((await devium('derive', 'status', '--json')).stdout)).toEqual(derivationAnswer())
  })

  it('derive status asks the batch submitter of DEVIUM_BATCHER_RPC, where the node knows of none', async () => {
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

  it('shows the token of a file', async () => {
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
    ['history', 'nothing has happened yet'],
    ['bans', 'no ban stands'],
    ['blocks', 'does not answer like a devium node'],
    ['stats', 'opp2p_peerStats'],
  ])('%s does without p2p before it', async (name, text) => {
    const [short, long] = await Promise.all([devium(name), devium('p2p', name)])
    expect(short.stdout + short.stderr).toContain(text)
    expect(short).toEqual(long)
  })

  it('status --json has the verdict, the node, its heads and its peers', async () => {
    const { stdout, code } = await devium('status', '--json')
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toEqual({ rpc: server.url, health: HEALTH, ...STATUS, peers: null, bans: [] })
  })

  it('peers shows one line a peer, itself not, and what is blocked', async () => {
    calls.length = 0
    const { stdout } = await devium('peers', '--all')
    expect(calls).toEqual([
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
    expect(stdout).toContain(`${PEER}\nscore 4, mostly for: requests answered with good blocks\nconnected\n`)
    expect(stdout).toContain('nothing is written down about it')
  })

  it('explain without a peer has a line for each', async () => {
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

  it('block asks before it covers all, and takes --yes for an answer', async () => {
    calls.length = 0
    const unconfirmed = await devium('block', '0.0.0.0/0')
    expect(unconfirmed).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'devium: 0.0.0.0/0 covers all IPv4 addresses. Blocking it disconnects 0 of 1 connected peer. Give --yes to go on.\n',
    })
    expect(calls.map(([method]) => method)).not.toContain('block')
    expect((await devium('p2p', 'block', '0.0.0.0/0', '--yes')).code).toBe(0)
    expect(calls).toContainEqual(['block', ['0.0.0.0/0']])
  })

  it('unblock says what keeps it out all the same', async () => {
    expect((await devium('unblock', '11.0.0.1')).stdout).toBe('11.0.0.1 is neither blocked nor banned any more\n')
    const left = '10.0.0.1 is off its list, but refused: it lies in 10.0.0.0/8, which is blocked\n'
    expect((await devium('unblock', '10.0.0.1')).stdout).toBe(left)
  })

  it('rpc takes JSON and bare text', async () => {
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
        'devium: no node answers at http://127.0.0.1:1 (connection refused): name its RPC address with --rpc or DEVIUM_RPC\n',
    },
    {
      args: ['batcher', 'stop', '--rpc', 'http://127.0.0.1:1'],
      stderr:
        'devium: no batch submitter answers at http://127.0.0.1:1 (connection refused): name its RPC address with --rpc or DEVIUM_BATCHER_RPC\n',
    },
    { args: ['stauts'], stderr: "devium: unknown command 'stauts' (Did you mean one of stats, status?)\n" },
    {
      args: ['explain', 'xyz'],
      stderr: 'devium: no known peer\'s id begins or ends with "xyz" (devium peers --all lists them)\n',
    },
    { args: ['explain', 'x'], stderr: 'devium: "x": give at least 3 characters of the peer id\n' },
    {
      args: ['p2p', 'blocks'],
      stderr:
        /^devium: http:\/\/\S+ does not answer like a devium node at blocks: Invalid input: expected array, received undefined\n$/,
    },
    // This server lacks the method, like a node with p2p disabled.
    {
      args: ['p2p', 'health'],
      stderr:
        /^devium: the method deviump2p_health does not exist\/is not available: the node at http:\/\/\S+ runs with --p2p.disable, or is no devium\n$/,
    },
    { args: ['p2p', 'explan'], stderr: "devium: unknown command 'explan' (Did you mean explain?)\n" },
    {
      args: ['status', '--rcp=http://127.0.0.1:9510'],
      stderr: "devium: unknown option '--rcp' (Did you mean --rpc?)\n",
    },
    { args: ['p2p', 'peers', '--al'], stderr: "devium: unknown option '--al' (Did you mean --all?)\n" },
  ])('$args ends with one clear line and exit code 1', async ({ args, stderr }) => {
    const expected = typeof stderr === 'string' ? stderr : expect.stringMatching(stderr)
    expect(await devium(...args)).toEqual({ code: 1, stdout: '', stderr: expected })
  })
})

describe('statusLines', () => {
  it('says who is banned, and what waits in the queue', () => {
    const reason = 'score -180.62 is below -100: invalid messages'
    const subject = '16Uiu2HAm5UcGBcvZtAYgnANxy7LGgmsAaC3HoKN8tcuH6Hyr2Er8'
    const ban = { subject, kind: 'peer', reason, untilMs: 1_700_003_570_000, remainingS: 3_540 }
    const answers = {
      health: HEALTH,
      heads: { ...STATUS, queued_unsafe_l2: ref(25) },
      peers: { connected: 2, known: 3, banned: 1 },
      bans: [ban],
    }
    const text = statusLines(answers, { nowMs: 1_700_000_030_000 }).map(textOf).join('\n')
    expect(text).toContain('peers    2 connected, 3 known, 1 blocked or banned')
    expect(text).toContain('\nbanned: …6Hyr2Er8 for 59 min more: score -180.62 is below -100: invalid messages\n')
    expect(text).toContain('waiting in the queue from L2 block 25 on')
    expect(text).toMatch(/L2 unsafe.*10 s ago/)
  })

  it('fits a terminal, with a colour for the state and none of what others sent', () => {
    const lines = statusLines({ health: STOPPED, heads: STATUS, peers: undefined }, { width: 40 })
    expect(lines[0]).toEqual([{ text: 'Sequencer is stopped.', style: 'bad' }, ' An operator has'])
    for (const line of lines) expect(textOf(line)).not.toContain('\u001b')
  })
})
