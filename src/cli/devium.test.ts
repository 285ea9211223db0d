import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { createRpcApp, type HttpServerHandle, serveApp } from '../lib/jsonRpc/httpServer.ts'
import { createRpcDispatcher, type RpcHandler } from '../lib/jsonRpc/server.ts'
import { invalidParams, type JsonValue } from '../lib/jsonRpc/types.ts'
import type { PeerHistory, PeerScoreReport } from '../p2p/api.ts'
import { formatExplanation } from './explainView.ts'
import { formatStatus } from './nodeViews.ts'

const SCRIPT = fileURLToPath(new URL('../../bin/devium.mjs', import.meta.url))
const PEER = '16Uiu2HAm5UcGBcvZtAYgnANxy7LGgmsAaC3HoKN8tcuH6Hyr2Er8'

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

const calls: [string, readonly JsonValue[]][] = []
const answer =
  (method: string, result: unknown): RpcHandler =>
  (params) => {
    calls.push([method, params])
    return result
  }

const PEERS = {
  totalConnected: 1,
  peers: {
    [PEER]: {
      peerID: PEER,
      userAgent: 'optimism',
      addresses: [`/ip4/127.0.0.1/tcp/9222/p2p/${PEER}`],
      connectedness: 1,
      direction: 1,
      protected: true,
      gossipBlocks: true,
      latency: 1_500_000,
      scores: { gossip: { total: -12 } },
    },
  },
  bannedPeers: [],
  bannedIPS: ['1.2.3.4'],
  bannedSubnets: [],
}

const term = (value: number, weight: number) => ({ value, weight, score: value * weight })
const SCORE: PeerScoreReport = {
  peerID: PEER,
  scored: true,
  connected: true,
  static: false,
  protected: false,
  total: -31,
  mainReason: '2 peers on 8.8.8.8',
  topics: { score: 0, cap: 0, parts: [] },
  application: { score: 4, validResponses: term(8, 0.5), errorResponses: term(0, -1), rejectedPayloads: term(0, -20) },
  ipColocation: {
    score: -35,
    parts: [{ ip: '8.8.8.8', peers: [PEER, 'other'], threshold: 10, exempt: false, exemptBy: null, ...term(1, -35) }],
  },
  behaviour: { score: 0, penalties: 2.5, threshold: 6, value: 0, weight: -16 },
  causes: { rejections: [], behaviour: [], application: [] },
  thresholds: [
    { name: 'mesh', value: 0, below: true, effect: 'not in our meshes', changesInS: 240 },
    { name: 'gossip', value: -10, below: true, effect: 'no gossip', changesInS: null },
    { name: 'graylist', value: -40, below: false, effect: 'unread', changesInS: 6 },
  ],
  forecastHorizonS: 3_600,
  forgottenInS: null,
  ban: null,
  blocked: false,
  refusals: [],
}
const HISTORY: PeerHistory = {
  peerID: PEER,
  events: [
    {
      kind: 'reject',
      reason: 'wrong-hash',
      detail: 'computed\u001b[2J 0x12',
      block: { number: 9, hash: `0x${'ab'.repeat(32)}` },
      topics: [3],
      count: 2,
      firstMs: 0,
      lastMs: 1_700_000_000_000,
      score: -1.5,
    },
  ],
}

/** Answers like a rollup node, and notes what it was asked: the tool is tested, not the node. */
async function startServer(): Promise<HttpServerHandle> {
  const handlers: [string, RpcHandler][] = [
    ['devium_version', answer('devium_version', 'v9.9.9')],
    ['devium_syncStatus', answer('devium_syncStatus', STATUS)],
    ['deviump2p_peers', answer('deviump2p_peers', PEERS)],
    ['deviump2p_peerScore', answer('deviump2p_peerScore', SCORE)],
    ['deviump2p_peerHistory', answer('deviump2p_peerHistory', HISTORY)],
    ...['blockPeer', 'blockAddr', 'blockSubnet', 'unblockPeer', 'protectPeer'].map((name): [string, RpcHandler] => [
      `deviump2p_${name}`,
      answer(name, null),
    ]),
    ['deviump2p_connectPeer', () => Promise.reject(invalidParams('invalid argument 0: bad peer address'))],
  ]
  const dispatcher = createRpcDispatcher({ methods: new Map(handlers) })
  return serveApp(createRpcApp({ dispatcher }), '127.0.0.1', 0, 'test')
}

const server = await startServer()
afterAll(() => server.close())

function devium(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [SCRIPT, ...args],
      { env: { ...process.env, DEVIUM_RPC: server.url } },
      (error, stdout, stderr) => {
        resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr })
      },
    )
  })
}

describe('devium', () => {
  it('status shows heads, and that p2p is off where its methods are unknown', async () => {
    const { stdout, code } = await devium('status')
    expect(code).toBe(0)
    expect(stdout).toContain('devium v9.9.9\npeers: p2p is disabled')
    expect(stdout).toMatch(/L2 unsafe\s+20\s+0xabab…abab/)
    expect(stdout).toMatch(/L2 finalized\s+-\s+not seen yet/)
  })

  it('status --json prints the raw answer', async () => {
    expect(JSON.parse((await devium('status', '--json')).stdout)).toEqual(STATUS)
  })

  it('peers shows one line a peer, and what is blocked', async () => {
    calls.length = 0
    const { stdout } = await devium('peers', '--all')
    expect(calls).toEqual([['deviump2p_peers', [false]]])
    expect(stdout).toContain('1 connected\nblocked: 1.2.3.4')
    expect(stdout).toMatch(
      new RegExp(
        `${PEER}\\s+inbound\\s+-12.00\\s+blocks\\s+protected\\s+1.5 ms\\s+optimism\\s+/ip4/127.0.0.1/tcp/9222\n`,
      ),
    )
  })

  it('explain says what a score is made of, what follows from it, and what the peer did', async () => {
    calls.length = 0
    const { stdout, code } = await devium('explain', PEER)
    expect(code).toBe(0)
    expect(calls).toEqual([
      ['deviump2p_peerScore', [PEER]],
      ['deviump2p_peerHistory', [PEER]],
    ])
    const lines = stdout.split('\n').map((line) => line.replace(/ +/g, ' '))
    expect(lines).toEqual([
      PEER,
      'score -31; connected',
      '',
      'made of value weight score',
      'requests answered with a good block 8 0.5 4',
      '2 peers on 8.8.8.8, 10 are free (excess squared) 1 -35 -35',
      'behaviour: 2.5 penalties, 6 are free 0 -16 0',
      'on 8.8.8.8 with it: other',
      '',
      'below 0: not in our meshes; over in 4 min if nothing more happens',
      'below -10: no gossip; not over within 60 min by itself',
      'graylist threshold -40: falls below in 6 s',
      '',
      'when what why times score then about',
      '2023-11-14 22:13:20Z reject wrong-hash x2 -1.5 v3, block 9 0xabab…abab, computed?[2J 0x12',
      '',
    ])
  })

  it.each([
    { args: ['block', PEER], call: ['blockPeer', [PEER]] },
    { args: ['block', '10.0.0.1'], call: ['blockAddr', ['10.0.0.1']] },
    { args: ['block', 'fe80::1'], call: ['blockAddr', ['fe80::1']] },
    { args: ['block', '10.0.0.0/8'], call: ['blockSubnet', ['10.0.0.0/8']] },
    { args: ['unblock', PEER], call: ['unblockPeer', [PEER]] },
    { args: ['protect', PEER], call: ['protectPeer', [PEER]] },
  ])('$args.0 $args.1 calls $call.0', async ({ args, call }) => {
    calls.length = 0
    expect((await devium(...args)).code).toBe(0)
    expect(calls).toEqual([call])
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
    { args: ['status', '--rpc', 'nonsense'], stderr: 'devium: --rpc: expected an http address, got "nonsense"\n' },
    {
      args: ['status', '--rpc', 'http://127.0.0.1:1'],
      stderr: 'devium: devium_syncStatus: request to http://127.0.0.1:1 failed: connect ECONNREFUSED 127.0.0.1:1\n',
    },
    { args: ['stauts'], stderr: "devium: unknown command 'stauts' (Did you mean status?)\n" },
    { args: ['p2p', 'explan'], stderr: "devium: unknown command 'explan' (Did you mean explain?)\n" },
    { args: ['p2p', 'peers', '--al'], stderr: "devium: unknown option '--al' (Did you mean --all?)\n" },
  ])('$args ends with one clear line and exit code 1', async ({ args, stderr }) => {
    expect(await devium(...args)).toEqual({ code: 1, stdout: '', stderr })
  })
})

describe('formatExplanation', () => {
  it('tells of a ban and how to lift it, of exempt IPs and topics', () => {
    const text = formatExplanation(
      {
        ...SCORE,
        total: 9,
        connected: false,
        static: true,
        ban: { subject: PEER, kind: 'peer', reason: 'score -200.00 is below -100', untilMs: 0, remainingS: 90 },
        ipColocation: {
          score: 0,
          parts: [
            { ip: '127.0.0.1', peers: [PEER], threshold: 10, exempt: true, exemptBy: '127.0.0.0/8', ...term(0, -35) },
          ],
        },
        topics: {
          score: 5,
          cap: 34,
          parts: [
            {
              topic: 't',
              version: 4,
              inMesh: true,
              topicWeight: 0.5,
              timeInMesh: term(10, 0.1),
              firstDeliveries: term(9, 1),
              meshDeficit: term(0, -0.7),
              meshFailures: term(0, -0.7),
              invalidMessages: term(0, -140),
              score: 5,
            },
          ],
        },
        thresholds: [{ name: 'mesh', value: 0, below: false, effect: '', changesInS: null }],
      },
      { peerID: PEER, events: [] },
    )
    expect(text).toContain('not connected, static (never banned for its score)')
    expect(text).toMatch(/blocks v4: first to bring a block +9 +0\.5 +4\.5/)
    expect(text).toContain('1 on 127.0.0.1: exempt (--p2p.score.ip-exempt)')
    expect(text).toContain('all topics together bring at most 34')
    expect(text).toContain(
      `banned until 1970-01-01 00:00:00Z (90 s more): score -200.00 is below -100\n  lift it with: devium unblock ${PEER}`,
    )
    expect(text).toContain('no history')
  })
})

describe('formatStatus', () => {
  it('says what waits in the queue', () => {
    const answers = {
      status: { ...STATUS, queued_unsafe_l2: ref(25) },
      version: 'v1',
      stats: { connected: 2, known: 3, banned: 1 },
      health: { state: 'ok', ok: true, text: 'blocks come by gossip' },
    }
    const text = formatStatus(answers, 1_700_000_030)
    expect(text).toContain('peers: 2 connected, 3 known, 1 blocked')
    expect(text).toContain('waiting in the queue from L2 block 25 on')
    expect(text).toMatch(/L2 unsafe.*10 s ago/)
  })
})
