import { describe, expect, it } from 'vitest'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { DEFAULT_DISCOVERY_OPTIONS, DEFAULT_P2P_OPTIONS, type P2pOptions } from '../../p2p/base/options.ts'
import type { FlagValues } from '../shared/flags.ts'
import { createProgram, type RunContext } from '../shared/program.ts'
import { p2pFlags, p2pOptionsFromFlags } from './p2pFlags.ts'

/** The options without any flag. */
const DEFAULTS: P2pOptions = { ...DEFAULT_P2P_OPTIONS, discovery: DEFAULT_DISCOVERY_OPTIONS }

type Values = FlagValues<typeof p2pFlags>

async function parse(args: string[], env: NodeJS.ProcessEnv = {}): Promise<{ values: Values; context: RunContext }> {
  let seen: { values: Values; context: RunContext } | undefined
  const command = createProgram({
    name: 'test',
    description: '',
    version: '0',
    envPrefixes: ['DEVIUM_NODE', 'OP_NODE'],
    flags: p2pFlags,
    env,
    run: async (values, context) => {
      seen = { values, context }
    },
  })
  command.exitOverride().configureOutput({ writeErr: () => {} })
  await command.parseAsync(['node', 'test', ...args])
  if (seen === undefined) throw new Error('not run')
  return seen
}

const INVALID = 'commander.invalidArgument'

async function options(args: string[], env: NodeJS.ProcessEnv = {}): Promise<P2pOptions | undefined> {
  return p2pOptionsFromFlags((await parse(args, env)).values)
}

describe('p2pOptionsFromFlags', () => {
  it("has op-node's defaults", async () => {
    expect(await options([])).toEqual(DEFAULTS)
  })

  it('is undefined when p2p is disabled', async () => {
    expect(await options(['--p2p.disable'])).toBeUndefined()
    expect(await options([], { OP_NODE_P2P_DISABLE: 'true' })).toBeUndefined()
  })

  it('reads every flag', async () => {
    const key = '46'.repeat(32)
    const flags: Record<string, string> = {
      'p2p.scoring': 'none',
      'p2p.score.blocks': 'op-node-2024',
      'p2p.score.ip-exempt': '10.0.0.0/8',
      'p2p.ban.peers': 'false',
      'p2p.ban.threshold': '-50.5',
      'p2p.ban.duration': '30m',
      'p2p.priv.path': 'key.txt',
      'p2p.priv.raw': key,
      'p2p.listen.ip': '127.0.0.1',
      'p2p.listen.tcp': '9333',
      'p2p.advertise.ip': 'node.example.org',
      'p2p.advertise.tcp': '9444',
      'p2p.static': '/ip4/1.2.3.4/tcp/1/p2p/a,/ip4/1.2.3.5/tcp/1/p2p/b',
      'p2p.names': 'a=16Uiu2',
      'p2p.allow': '10.0.0.0/8',
      'p2p.mux': 'mplex',
      'p2p.security': 'tls,noise',
      'p2p.peers.lo': '3',
      'p2p.peers.hi': '9',
      'p2p.peers.grace': '1m',
      'p2p.nat': 'true',
      'p2p.useragent': 'me',
      'p2p.timeout.dial': '3s',
      'p2p.peerstore.path': 'memory',
      'p2p.sequencer.key': `0x${key}`,
      'p2p.gossip.mesh.d': '5',
      'p2p.gossip.mesh.lo': '4',
      'p2p.gossip.mesh.dhi': '7',
      'p2p.gossip.mesh.dlazy': '2',
      'p2p.gossip.mesh.floodpublish': 'true',
      'p2p.gossip.timestamp.threshold': '90s',
      'p2p.sync.onlyreqtostatic': 'true',
      'p2p.ping': 'false',
    }
    const expected: P2pOptions = {
      privateKey: new Uint8Array(32).fill(0x46),
      privateKeyPath: 'key.txt',
      listenIp: '127.0.0.1',
      listenTcpPort: 9333,
      advertiseIp: 'node.example.org',
      advertiseTcpPort: 9444,
      staticPeers: ['/ip4/1.2.3.4/tcp/1/p2p/a', '/ip4/1.2.3.5/tcp/1/p2p/b'],
      peerNames: ['a=16Uiu2'],
      allow: ['10.0.0.0/8'],
      peerStorePath: 'memory',
      muxers: ['mplex'],
      security: ['tls', 'noise'],
      userAgent: 'me',
      peersLow: 3,
      peersHigh: 9,
      peersGraceMs: 60_000,
      dialTimeoutMs: 3_000,
      liveness: DEFAULTS.liveness,
      nat: true,
      ping: false,
      sequencerKey: new Uint8Array(32).fill(0x46),
      gossip: { meshD: 5, meshLow: 4, meshHigh: 7, meshLazy: 2, floodPublish: true, maxAgeS: 90 },
      scoring: 'none',
      scoreBlocks: 'op-node-2024',
      ban: { enabled: false, threshold: -50.5, durationMs: 1_800_000 },
      ipColocationExempt: ['127.0.0.0/8', '::1/128', '10.0.0.0/8'],
      sync: { enabled: true, onlyStatic: true },
      discovery: DEFAULT_DISCOVERY_OPTIONS,
    }
    expect(await options(Object.entries(flags).map(([name, value]) => `--${name}=${value}`))).toEqual(expected)
  })

  it.each([
    ['P2P_LISTEN_TCP_PORT', '9555', { listenTcpPort: 9555 }],
    ['P2P_STATIC', '/a,/b', { staticPeers: ['/a', '/b'] }],
    ['P2P_AGENT', 'x', { userAgent: 'x' }],
    ['P2P_PEER_SCORING', 'none', { scoring: 'none' }],
    ['P2P_PEER_BANNING_DURATION', '2h', { ban: { ...DEFAULTS.ban, durationMs: 7_200_000 } }],
    ['P2P_GOSSIP_MESH_DLO', '3', { gossip: { ...DEFAULTS.gossip, meshLow: 3 } }],
    ['P2P_PEERSTORE_PATH', 'memory', { peerStorePath: 'memory' }],
  ])('reads OP_NODE_%s', async (name, value, expected) => {
    expect(await options([], { [`OP_NODE_${name}`]: value })).toEqual({ ...DEFAULTS, ...expected })
  })

  it.each<[string, Partial<P2pOptions> | undefined]>([
    ['--p2p.mux=Yamux, MPLEX', { muxers: ['yamux', 'mplex'] }],
    ['--p2p.security=TLS', { security: ['tls'] }],
    ['--p2p.useragent=', { userAgent: 'optimism' }],
    ['--p2p.nat=t', { nat: true }],
    ['--p2p.ping=F', { ping: false }],
    ['--p2p.disable=T', undefined],
    ['--p2p.timeout.dial=0', { dialTimeoutMs: 10_000 }],
    ['--p2p.timeout.dial=1500us', { dialTimeoutMs: 2 }],
    ['--p2p.timeout.dial=999999h', { dialTimeoutMs: 2 ** 31 - 1 }],
  ])('accepts %s like op-node', async (text, expected) => {
    expect(await options([text])).toEqual(expected === undefined ? undefined : { ...DEFAULTS, ...expected })
  })

  it.each<[string, string, (string | number)[]]>([
    ['--p2p.listen.tcp=65536', INVALID, ['--p2p.listen.tcp', 65536]],
    ['--p2p.listen.tcp=80', INVALID, ['--p2p.listen.tcp', 80]],
    ['--p2p.scoring=heavy', INVALID, ['--p2p.scoring', 'heavy']],
    ['--p2p.score.blocks=all', INVALID, ['--p2p.score.blocks', 'all', 'current', 'none', 'op-node-2024']],
    ['--p2p.mux=spdy', INVALID, ['--p2p.mux', 'spdy']],
    ['--p2p.security=rot13', INVALID, ['--p2p.security', 'rot13']],
    ['--p2p.security=none,noise', 'usage', ['--p2p.security']],
    ['--p2p.peers.lo=0', 'usage', ['--p2p.peers.lo', 0, 30]],
    ['--p2p.peers.lo=40', 'usage', ['--p2p.peers.lo', 40, 30]],
    ['--p2p.gossip.mesh.d=0', INVALID, ['--p2p.gossip.mesh.d', 1, 1_000]],
    ['--p2p.unheard=1', 'commander.unknownOption', ['--p2p.unheard']],
  ])('refuses %s', async (text, code, named) => {
    await expect(options([text])).rejects.toThrow(errorWith(code, ...named))
  })

  it.each(['p2p.priv.raw', 'p2p.sequencer.key'])('refuses a bad %s without showing it', async (name) => {
    for (const text of [`${'46'.repeat(31)}zz`, '46'.repeat(31)]) {
      const error = await options([`--${name}=${text}`]).catch((thrown: unknown) => thrown)
      expect(String(error)).toContain(`--${name}: p2p priv key`)
      expect(String(error)).not.toContain('4646')
    }
  })

  it('uses the deprecated flags only if p2p.scoring is empty', async () => {
    expect((await options(['--p2p.scoring.peers=none']))?.scoring).toBe('light')
    expect((await options(['--p2p.scoring=', '--p2p.scoring.peers=none']))?.scoring).toBe('none')
    expect((await options(['--p2p.scoring=', '--p2p.scoring.topics=none']))?.scoring).toBe('none')
  })

  it('reads the flags of discovery', async () => {
    const parsed = await options([
      '--p2p.bootnodes=enr:-abc,enode://def@host:1',
      '--p2p.bootnodes=enr:-ghi',
      '--p2p.listen.udp=9222',
      '--p2p.advertise.udp=9333',
      '--p2p.netrestrict=10.0.0.0/8,fd00::/8',
      '--p2p.discovery.path=memory',
    ])
    expect(parsed?.discovery).toEqual({
      listenUdpPort: 9222,
      advertiseUdpPort: 9333,
      bootnodes: ['enr:-abc', 'enode://def@host:1', 'enr:-ghi'],
      path: 'memory',
      netrestrict: ['10.0.0.0/8', 'fd00::/8'],
    })
  })

  it('distinguishes missing bootnodes from an empty list', async () => {
    expect((await options([]))?.discovery?.bootnodes).toBeUndefined()
    expect((await options(['--p2p.bootnodes=']))?.discovery?.bootnodes).toEqual([])
    expect((await options([], { OP_NODE_P2P_BOOTNODES: '' }))?.discovery?.bootnodes).toBeUndefined()
  })

  it('disables discovery with p2p.no-discovery', async () => {
    expect((await options(['--p2p.no-discovery']))?.discovery).toBeUndefined()
  })

  it('warns of flags without effect', async () => {
    const { context } = await parse(['--p2p.score.bands=-40:graylist'])
    expect(context.warnings).toEqual([expect.stringContaining('--p2p.score.bands')])
  })
})

describe('the flags of the remote signer', () => {
  const signer = ['--signer.endpoint=https://signer.example.org:8000/', `--signer.address=0x${'Ab'.repeat(20)}`]

  it('configure a signer when endpoint and address are set', async () => {
    expect((await options(signer))?.remoteSigner).toEqual({
      endpoint: 'https://signer.example.org:8000/',
      address: `0x${'ab'.repeat(20)}`,
      headers: {},
      tls: { caPath: 'tls/ca.crt', certPath: 'tls/tls.crt', keyPath: 'tls/tls.key' },
    })
    const env = {
      OP_NODE_SIGNER_ENDPOINT: 'http://127.0.0.1:8000',
      OP_NODE_SIGNER_ADDRESS: 'ab'.repeat(20),
      OP_NODE_SIGNER_HEADER: 'x-api-key=a=b,x-other=c',
      OP_NODE_SIGNER_TLS_ENABLED: 'false',
    }
    expect((await options([], env))?.remoteSigner).toEqual({
      endpoint: 'http://127.0.0.1:8000',
      address: `0x${'ab'.repeat(20)}`,
      headers: { 'x-api-key': 'a=b', 'x-other': 'c' },
    })
  })

  it.each<[string[], string, (string | number)[]]>([
    [signer.slice(0, 1), 'usage', ['--signer.endpoint', '--signer.address']],
    [signer.slice(1), 'usage', ['--signer.endpoint', '--signer.address']],
    [['--signer.endpoint=signer:8000', ...signer.slice(1)], 'usage', ['--signer.endpoint']],
    [['--signer.address=0x12'], INVALID, ['--signer.address', 20]],
    [[...signer, '--signer.tls.key='], 'usage', ['--signer.tls.ca', '--signer.tls.cert', '--signer.tls.key']],
  ])('refuse %j', async (args, code, named) => {
    await expect(options(args)).rejects.toThrow(errorWith(code, ...named))
  })

  it('refuse a header without a value, and do not repeat the header', async () => {
    const refused = options([...signer, '--signer.header=c0ffee'])
    await expect(refused).rejects.toThrow(errorWith('usage', '--signer.header'))
    await expect(refused).rejects.not.toThrow(/c0ffee/)
  })
})
