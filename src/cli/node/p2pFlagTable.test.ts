import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../lib/clock.ts'
import { describeError } from '../../lib/errors.ts'
import { silentLogger } from '../../lib/logger.ts'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { identityFromRawKey } from '../../p2p/host/identity.ts'
import { createP2pNode } from '../../p2p/index.ts'
import { testChain, testConfig } from '../../p2p/testUtils/testChain.ts'
import type { FlagSpec, FlagValues } from '../shared/flags.ts'
import { createProgram } from '../shared/program.ts'
import { p2pFlags, p2pOptionsFromFlags } from './p2pFlags.ts'

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'devium-flags-'))
  await writeFile(join(folder, 'file'), '')
})
afterAll(() => rm(folder, { recursive: true }))

/** The environment of every run. */
const BASE: NodeJS.ProcessEnv = {
  OP_NODE_P2P_LISTEN_IP: '127.0.0.1',
  OP_NODE_P2P_LISTEN_TCP_PORT: '0',
  OP_NODE_P2P_ADVERTISE_TCP: '4001',
  OP_NODE_P2P_PEERSTORE_PATH: 'memory',
  OP_NODE_P2P_DISCOVERY_PATH: 'memory',
  OP_NODE_P2P_BOOTNODES: '',
}

/** Starts a node from the command line and stops it at once. Resolves with the warnings. */
async function run(args: string[], env: NodeJS.ProcessEnv = {}): Promise<readonly string[]> {
  let seen: { values: FlagValues<typeof p2pFlags>; warnings: readonly string[] } | undefined
  const command = createProgram({
    name: 'test',
    description: '',
    version: '0',
    envPrefixes: ['DEVIUM_NODE', 'OP_NODE'],
    flags: p2pFlags,
    env: { ...BASE, OP_NODE_P2P_PRIV_PATH: join(folder, 'key.txt'), ...env },
    run: async (values, { warnings }) => {
      seen = { values, warnings }
    },
  })
  command.exitOverride().configureOutput({ writeErr: () => {} })
  await command.parseAsync(['node', 'test', ...args])
  if (seen === undefined) throw new Error('not run')
  const options = p2pOptionsFromFlags(seen.values)
  if (options === undefined) return seen.warnings
  const chain = testChain(testConfig())
  const node = await createP2pNode(
    { logger: silentLogger, clock: systemClock, registry: new Registry(), chain },
    options,
  )
  try {
    await node.start()
  } finally {
    await node.stop()
  }
  return seen.warnings
}

interface Row {
  flag: string
  env: string
  default: unknown
  /** `F` stands for the temporary folder. */
  good: string
  /** Undefined: any text is valid. */
  wrong: string | undefined
}

const row = (flag: string, env: string, byDefault: unknown, good: string, wrong: string | undefined): Row => ({
  flag,
  env,
  default: byDefault,
  good,
  wrong,
})

const PEER = `/ip4/127.0.0.1/tcp/1/p2p/${identityFromRawKey(new Uint8Array(32).fill(7)).peerId}`
const KEY = '46'.repeat(32)

/** op-node's flags (its `flags/p2p_flags.go`): name, variable after OP_NODE_P2P_, default. */
const OP_NODE_FLAGS: Row[] = [
  row('disable', 'DISABLE', false, 'true', 'maybe'),
  row('no-discovery', 'NO_DISCOVERY', false, 'true', 'maybe'),
  row('scoring', 'PEER_SCORING', 'light', 'none', 'heavy'),
  row('ban.peers', 'PEER_BANNING', true, 'false', 'maybe'),
  row('ban.threshold', 'PEER_BANNING_THRESHOLD', -100, '-12.5', 'low'),
  row('ban.duration', 'PEER_BANNING_DURATION', 3_600_000, '1h30m', '10'),
  row('priv.path', 'PRIV_PATH', 'opnode_p2p_priv.txt', 'F/other.txt', 'F/file/x'),
  row('priv.raw', 'PRIV_RAW', undefined, `0x${KEY}`, 'zz'),
  row('listen.ip', 'LISTEN_IP', '0.0.0.0', '::', 'here'),
  row('listen.tcp', 'LISTEN_TCP_PORT', 9222, '0', '80'),
  row('listen.udp', 'LISTEN_UDP_PORT', 0, '0', '65536'),
  row('advertise.ip', 'ADVERTISE_IP', undefined, '192.0.2.1', 'nowhere.invalid'),
  row('advertise.tcp', 'ADVERTISE_TCP', 0, '4001', '80'),
  row('advertise.udp', 'ADVERTISE_UDP', 0, '4002', '-1'),
  row('bootnodes', 'BOOTNODES', undefined, '', 'enr:-abc'),
  row('static', 'STATIC', [], PEER, '/ip4/127.0.0.1/tcp/1'),
  row('netrestrict', 'NETRESTRICT', [], '10.0.0.0/8,fd00::/8', '10.0.0.0'),
  row('mux', 'MUX', ['yamux', 'mplex'], 'mplex,yamux', 'spdy'),
  row('security', 'SECURITY', ['noise'], 'tls,noise', 'none,noise'),
  row('peers.lo', 'PEERS_LO', 20, '5', '31'),
  row('peers.hi', 'PEERS_HI', 30, '50', '0'),
  row('peers.grace', 'PEERS_GRACE', 30_000, '1m', 'soon'),
  row('nat', 'NAT', false, 'false', 'maybe'),
  row('useragent', 'AGENT', 'optimism', 'me', undefined),
  row('timeout.negotiation', 'TIMEOUT_NEGOTIATION', 10_000, '5s', 'soon'),
  row('timeout.accept', 'TIMEOUT_ACCEPT', 10_000, '5s', 'soon'),
  row('timeout.dial', 'TIMEOUT_DIAL', 10_000, '5s', 'soon'),
  row('peerstore.path', 'PEERSTORE_PATH', 'opnode_peerstore_db', 'F/peers', ''),
  row('discovery.path', 'DISCOVERY_PATH', 'opnode_discovery_db', 'F/nodes', 'F/file'),
  row('sequencer.key', 'SEQUENCER_KEY', undefined, KEY, '46'),
  row('gossip.mesh.d', 'GOSSIP_MESH_D', 8, '6', '0'),
  row('gossip.mesh.lo', 'GOSSIP_MESH_DLO', 6, '4', '1001'),
  row('gossip.mesh.dhi', 'GOSSIP_MESH_DHI', 12, '16', 'many'),
  row('gossip.mesh.dlazy', 'GOSSIP_MESH_DLAZY', 6, '3', '-1'),
  row('gossip.mesh.floodpublish', 'GOSSIP_FLOOD_PUBLISH', false, 'true', 'maybe'),
  row('gossip.timestamp.threshold', 'GOSSIP_TIMESTAMP_THRESHOLD', 60_000, '90s', '90'),
  row('sync.onlyreqtostatic', 'SYNC_ONLYREQTOSTATIC', false, 'true', 'maybe'),
  row('ping', 'PING', true, 'false', 'maybe'),
]

const inFolder = (text: string): string => text.replace(/^F\//, `${folder}/`)

describe.each(OP_NODE_FLAGS)('--p2p.$flag', ({ flag, env, good, wrong, ...rest }) => {
  const name = `p2p.${flag}`
  const specs: readonly FlagSpec<unknown>[] = Object.values(p2pFlags)
  const spec = specs.find((candidate) => candidate.name === name)

  it("has op-node's default and variable", () => {
    expect(spec).toBeDefined()
    expect(spec?.default).toEqual(rest.default)
    expect(spec?.env ?? name.toUpperCase().replace(/[.-]/g, '_')).toBe(`P2P_${env}`)
  })

  it('works, from the command line and from the variable', async () => {
    expect(await run([`--${name}=${inFolder(good)}`])).toEqual([])
    expect(await run([], { [`OP_NODE_P2P_${env}`]: inFolder(good) })).toEqual([])
  })

  it.skipIf(wrong === undefined)('is named in the error of an invalid value', async () => {
    const text = inFolder(wrong ?? '')
    const byFlag = await run([`--${name}=${text}`]).catch((error: unknown) => describeError(error))
    expect(byFlag).toContain(`--${name}`)
    expect(byFlag).not.toContain('\n')
    // An empty variable counts as not set.
    if (text === '') return
    const byVariable = await run([], { [`OP_NODE_P2P_${env}`]: text }).catch((error: unknown) => describeError(error))
    expect(byVariable).toMatch(new RegExp(`OP_NODE_P2P_${env}|--${name.replaceAll('.', '\\.')}`))
  })
})

describe('an invalid value', () => {
  it.each([
    ['p2p.priv.raw', '00'.repeat(32)],
    ['p2p.sequencer.key', 'ff'.repeat(32)],
    ['p2p.listen.ip', 'fe80::1%lo'],
    ['p2p.advertise.ip', 'fe80::1%lo'],
  ])('of --%s is refused, and the error names the flag: %s', async (name, value) => {
    await expect(run([`--${name}=${value}`])).rejects.toThrow(errorWith('usage', `--${name}:`))
  })

  it('is not reported where op-node accepts it: an advertised address with an automatic port', async () => {
    expect(await run(['--p2p.advertise.ip=192.0.2.1', '--p2p.advertise.tcp=0'])).toEqual([])
  })
})

describe('deprecated flags', () => {
  it('are accepted with a warning', async () => {
    expect(await run(['--p2p.scoring.peers=none', '--p2p.scoring.topics=none', '--p2p.score.bands=1:2'])).toEqual([
      expect.stringMatching(/--p2p\.scoring\.peers\b.* --p2p\.scoring$/),
      expect.stringMatching(/--p2p\.scoring\.topics\b.* --p2p\.scoring$/),
      expect.stringContaining('--p2p.score.bands'),
    ])
    const retired = expect.stringContaining('--p2p.sync.req-resp')
    expect(await run(['--p2p.sync.req-resp=false'])).toEqual([retired])
    expect(await run([], { OP_NODE_P2P_SYNC_REQ_RESP: 'true' })).toEqual([retired])
    await expect(run(['--p2p.scoring.peers=heavy'])).rejects.toThrow(
      errorWith('commander.invalidArgument', '--p2p.scoring.peers', 'heavy'),
    )
  })
})

describe('an empty environment variable', () => {
  it('counts as not set for numbers and booleans', async () => {
    const env = Object.fromEntries(
      ['PEERS_LO', 'NAT', 'BAN_DURATION', 'LISTEN_UDP_PORT'].map((name) => [`OP_NODE_P2P_${name}`, '']),
    )
    expect(await run([], env)).toEqual([])
  })
})
