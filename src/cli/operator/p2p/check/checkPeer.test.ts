import { randomBytes } from 'node:crypto'
import { type GossipSub, gossipsub, StrictNoSign } from '@chainsafe/libp2p-gossipsub'
import { noise } from '@chainsafe/libp2p-noise'
import { identify } from '@libp2p/identify'
import type { ConnectionGater, Libp2p } from '@libp2p/interface'
import { plaintext } from '@libp2p/plaintext'
import { tls } from '@libp2p/tls'
import { yamux } from '@libp2p/yamux'
import { describe, expect, it, onTestFinished } from 'vitest'
import { toHex } from '../../../../lib/hex.ts'
import { decompressPublicKey } from '../../../../lib/secp256k1.ts'
import { until } from '../../../../lib/testUtils/until.ts'
import { DEFAULT_DISCOVERY_OPTIONS, type P2pOptions } from '../../../../p2p/base/options.ts'
import { identityFromRawKey } from '../../../../p2p/host/identity.ts'
import { parsePeerId } from '../../../../p2p/host/multiaddrs.ts'
import { startBareHost } from '../../../../p2p/hostile/bareHost.ts'
import { nodeInTest } from '../../../../p2p/testUtils/inTest.ts'
import { startRawServer } from '../../../../p2p/testUtils/rawServer.ts'
import { CHAIN_ID, testBlocks, testChain, testConfig } from '../../../../p2p/testUtils/testChain.ts'
import type { TestNode } from '../../../../p2p/testUtils/testNode.ts'
import type { PayloadEnvelope } from '../../../../rollup/protocol/types.ts'
import type { OwnNodeView } from './ownNode.ts'
import { systemResolver } from './resolve.ts'
import { check, outcomes, step } from './testUtils/checking.ts'

const USABLE =
  'address ok, tcp ok, security ok, peer id ok, muxer ok, identify ok, gossip ok, topics ok, blocks ok, connection ok'

async function ourNode(options: Partial<P2pOptions> = {}, blocks: PayloadEnvelope[] = []): Promise<TestNode> {
  const chain = testChain(testConfig(), {
    payloadByNumber: async (number) => blocks.find(({ payload }) => payload.blockNumber === number),
  })
  return nodeInTest(options, { chain })
}

interface HostSettings {
  security?: typeof noise | typeof tls | typeof plaintext
  gater?: ConnectionGater
  /** Undefined: no gossipsub. */
  topics?: string[]
  /** The host speaks only a multiplexer that other nodes do not know. */
  oddMuxer?: boolean
  isAnonymous?: boolean
}

/** A libp2p node with other protocols than this project's. */
async function strangeHost(settings: HostSettings = {}): Promise<string> {
  const { security = noise, gater, topics, oddMuxer = false, isAnonymous = false } = settings
  const muxer = yamux()()
  const odd = {
    protocol: '/odd/1.0.0',
    createStreamMuxer: (stream: Parameters<typeof muxer.createStreamMuxer>[0]) => muxer.createStreamMuxer(stream),
  }
  const host: Libp2p<{ pubsub?: GossipSub }> = await startBareHost({
    addresses: { listen: ['/ip4/127.0.0.1/tcp/0'] },
    connectionEncrypters: [security()],
    streamMuxers: [() => (oddMuxer ? odd : muxer)],
    ...(gater === undefined ? {} : { connectionGater: gater }),
    services: {
      ...(isAnonymous ? {} : { identify: identify() }),
      ...(topics === undefined ? {} : { pubsub: gossipsub({ globalSignaturePolicy: StrictNoSign }) }),
    },
  })
  onTestFinished(() => host.stop())
  for (const topic of topics ?? []) host.services.pubsub?.subscribe(topic)
  return host.getMultiaddrs()[0]?.toString() ?? ''
}

const blocksTopics = (chainId: number, versions = [0, 1, 2, 3]) =>
  versions.map((version) => `/optimism/${chainId}/${version}/blocks`)

/** 128 hex digits: the uncompressed public key without its prefix. */
function enodeKey(peerId: string): string {
  const { publicKey } = parsePeerId(peerId)
  if (publicKey?.type !== 'secp256k1') throw new Error('not a secp256k1 peer')
  return toHex(decompressPublicKey(publicKey.raw).subarray(1)).slice(2)
}

const OWN_VIEW: OwnNodeView = {
  peerId: 'us',
  chainId: CHAIN_ID,
  blockNumber: undefined,
  blockedPeers: [],
  blockedIps: [],
  blockedSubnets: [],
  bans: [],
  connected: [],
}

describe('a node of the chain', () => {
  it('passes every step, and sends a block', async () => {
    const blocks = testBlocks(testConfig(), 1, 3)
    const { address, node } = await ourNode({}, blocks)
    const seen: string[] = []
    const report = await check(address, { blockNumber: 2 }, { onStep: ({ step: name }) => seen.push(name) })
    expect(outcomes(report)).toBe(USABLE)
    expect(report).toMatchObject({ ok: true, failedAt: null, peerId: node.peerId, expectedChainId: '901' })
    expect(report.verdict).toBe('reachable: optimism, chain 901')
    expect(seen).toEqual(report.steps.map(({ step: name }) => name))
    expect(step(report, 'topics')).toMatchObject({ text: 'blocks v1 v2 v3 v4 of chain 901' })
    expect(step(report, 'blocks')).toMatchObject({
      text: 'it serves blocks of chain 901 by number, and sent block 2',
      data: { blockHash: blocks[1]?.payload.blockHash },
    })
    expect(step(report, 'identify')?.data).toMatchObject({ agent: 'optimism' })
  })

  it('forgets the checking peer after the check', async () => {
    const { address, node } = await ourNode()
    const known = async () => Object.keys((await node.peers(false)).peers)
    await check(address)
    const [checker] = await node.peerHistory()
    expect(checker?.events[0]).toMatchObject({ kind: 'connected' })
    await until('its end', async () => (await known()).join() === node.peerId)
  })

  it('is distinguished from a node without the block, and from one that serves no blocks', async () => {
    const withoutBlock = await ourNode()
    expect(step(await check(withoutBlock.address, { blockNumber: 2 }), 'blocks')).toMatchObject({
      outcome: 'warning',
      text: 'it serves blocks of chain 901 by number, but not block 2: it does not have the block',
    })
    const serverless = await ourNode({ sync: { enabled: false, onlyStatic: false } })
    const report = await check(serverless.address, { blockNumber: 2 })
    expect(step(report, 'blocks')).toMatchObject({ outcome: 'warning', text: 'it does not serve blocks by number' })
    expect(report).toMatchObject({ ok: true, verdict: 'reachable: optimism, chain 901; warnings: blocks' })
  })

  it('is found without a peer id in the address, and its complete address is shown', async () => {
    const { address, node } = await ourNode()
    const report = await check(address.replace(/\/p2p\/.*/, ''), { chainId: undefined })
    expect(report).toMatchObject({ ok: true, peerId: node.peerId, expectedChainId: null })
    expect(step(report, 'address')?.outcome).toBe('warning')
    expect(step(report, 'peer id')).toMatchObject({ text: node.peerId, hint: `the complete address: ${address}` })
  })

  it('is named when another peer id was expected, with the right address', async () => {
    const { address, node } = await ourNode()
    const other = identityFromRawKey(randomBytes(32)).peerId.toString()
    const report = await check(address.replace(node.peerId, other))
    expect(report).toMatchObject({ ok: false, failedAt: 'peer id', peerId: node.peerId })
    expect(step(report, 'peer id')).toMatchObject({
      text: `found ${node.peerId}, expected ${other}`,
      hint: `if this is the right node, its address is ${address}`,
    })
  })

  it('is reported to follow another chain', async () => {
    const { address } = await ourNode()
    const report = await check(address, { chainId: 10n })
    expect(report).toMatchObject({ ok: false, failedAt: 'topics' })
    expect(report.verdict).toBe('failed at topics: blocks of chain 901, not of chain 10 (also failed: blocks)')
    expect(step(report, 'blocks')?.text).toBe('it serves blocks of chain 901, not of chain 10')
  })
})

describe('a node with a record', () => {
  it('is checked on UDP too, by ENR and by enode', async () => {
    const { node } = await ourNode({
      discovery: { ...DEFAULT_DISCOVERY_OPTIONS, path: 'memory', bootnodes: [] },
    })
    const { ENR } = await node.self()
    const report = await check(ENR)
    expect(report).toMatchObject({ ok: true, peerId: node.peerId })
    expect(step(report, 'record')).toMatchObject({ outcome: 'ok', data: { chainId: '901', ip: '127.0.0.1' } })
    expect(step(report, 'udp')).toMatchObject({ outcome: 'ok', data: { enr: ENR, chainId: '901' } })

    const other = await check(ENR, { chainId: 10n })
    expect(other).toMatchObject({ ok: false, failedAt: 'record' })
    expect(step(other, 'record')?.hint).toBe('it follows chain 901, not 10')
    expect(step(other, 'udp')?.outcome).toBe('failed')

    const { udpPort } = step(report, 'record')?.data ?? {}
    const enode = await check(`enode://${enodeKey(node.peerId)}@127.0.0.1:0?discport=${udpPort}`)
    expect(outcomes(enode)).toBe('address ok, tcp skipped, udp ok')
    expect(enode.verdict).toBe('discovery answers; the peer has no TCP port')
  })

  it('may be silent on UDP and still reachable', async () => {
    const { address, node } = await ourNode()
    const [, port = ''] = /tcp\/(\d+)/.exec(address) ?? []
    const report = await check(`enode://${enodeKey(node.peerId)}@127.0.0.1:${port}?discport=1`, { timeoutMs: 5_000 })
    expect(report.ok).toBe(true)
    expect(step(report, 'udp')).toMatchObject({
      outcome: 'warning',
      text: expect.stringMatching(/^no answer of discovery at 127\.0\.0\.1:1 /),
    })
  })

  it('is refused when the record is damaged', async () => {
    expect(await check('enr:-J24QHBZMygx')).toMatchObject({ ok: false, failedAt: 'record', peerId: null })
  })
})

describe('a host name', () => {
  it('that does not resolve fails the check', async () => {
    const report = await check('/dns4/nobody.invalid/tcp/9222')
    expect(outcomes(report)).toBe('address warning, name failed')
    expect(report.verdict).toMatch(/^failed at name: nobody\.invalid does not resolve/)
  })

  it('whose resolver does not answer fails the check in time', async () => {
    const resolver = { ...systemResolver, addresses: () => new Promise<string[]>(() => {}) }
    const report = await check('/dns4/slow.example/tcp/9222', { timeoutMs: 50 }, { resolver })
    expect(step(report, 'name')).toMatchObject({
      outcome: 'failed',
      text: expect.stringMatching(/no answer within 50 ms/),
    })
  })

  it('with several addresses is dialled at the address that answers', async () => {
    const { address } = await ourNode()
    const [, port = ''] = /tcp\/(\d+)/.exec(address) ?? []
    const resolver = { ...systemResolver, addresses: async () => ['127.0.0.2', '127.0.0.1'] }
    const report = await check(`/dns4/two.example/tcp/${port}`, {}, { resolver })
    expect(report.ok).toBe(true)
    expect(outcomes(report)).toMatch(/^address warning, name ok, tcp warning, tcp ok, security ok/)
  })
})

describe('a libp2p node', () => {
  it.each([
    ['tls', tls],
    ['plaintext', plaintext],
  ])('that supports only %s', async (_, security) => {
    const report = await check(await strangeHost({ security }))
    expect(step(report, 'security')).toMatchObject({
      outcome: 'failed',
      text: 'the peer offers no transport security that we support (--p2p.security)',
      data: { reason: 'no-security' },
    })
  })

  it('that supports none of our multiplexers', async () => {
    const report = await check(await strangeHost({ oddMuxer: true }))
    expect(step(report, 'security')?.outcome).toBe('ok')
    expect(step(report, 'muxer')).toMatchObject({ outcome: 'failed', text: 'it supports neither yamux nor mplex' })
  })

  it('that does not answer identify', async () => {
    const report = await check(await strangeHost({ isAnonymous: true }))
    expect(step(report, 'identify')).toMatchObject({
      outcome: 'failed',
      text: expect.stringMatching(/^no answer to identify/),
    })
  })

  it('that refuses our address', async () => {
    const report = await check(await strangeHost({ gater: { denyInboundConnection: () => true } }))
    expect(report.failedAt).toMatch(/^(tcp|security)$/)
    expect(report.steps.at(-1)?.hint).toMatch(/blocked or banned our address/)
  })

  it('that refuses our peer id, a new one or the own one', async () => {
    const key = new Uint8Array(randomBytes(32))
    const banned = identityFromRawKey(key).peerId
    const address = await strangeHost({
      topics: blocksTopics(901),
      gater: { denyInboundEncryptedConnection: (peer) => peer.equals(banned) },
    })
    expect((await check(address)).ok).toBe(true)
    const report = await check(address, { privateKey: key })
    expect(report.failedAt).toMatch(/^(muxer|connection)$/)
    expect(report.steps.at(-1)?.hint).toMatch(/^it has blocked or banned this peer id/)

    const all = await strangeHost({ gater: { denyInboundEncryptedConnection: () => true } })
    expect((await check(all)).steps.at(-1)?.hint).toMatch(/--identity/)
  })

  it('that has no gossip, or other topics', async () => {
    const silent = await check(await strangeHost())
    expect(silent).toMatchObject({ ok: false, failedAt: 'gossip' })
    const without = await check(await strangeHost({ topics: [] }), { timeoutMs: 10_000 })
    expect(step(without, 'topics')).toMatchObject({ outcome: 'failed', text: 'it announces no topic' })
    const other = await check(await strangeHost({ topics: ['weather\u001b[2J'] }))
    expect(step(other, 'topics')).toMatchObject({ outcome: 'failed', text: 'no blocks topic, but weather?[2J' })
  })

  it('that is too old for the latest forks, or follows two chains', async () => {
    const old = await check(await strangeHost({ topics: blocksTopics(901, [0, 1, 2]) }))
    expect(step(old, 'topics')).toMatchObject({ outcome: 'warning', hint: expect.stringMatching(/^no topic for v4/) })
    const topics = [...blocksTopics(901), ...blocksTopics(10)]
    expect((await check(await strangeHost({ topics }))).ok).toBe(true)
    expect(step(await check(await strangeHost({ topics }), { chainId: 5n }), 'topics')?.text).toBe(
      'blocks of chain 10 and 901, not of chain 5',
    )
  })
})

describe('our own node', () => {
  it('provides chain id and block number, and its refusals are reported', async () => {
    const { address, node } = await ourNode({}, testBlocks(testConfig(), 1, 3))
    const checkWith = (view: Partial<OwnNodeView>) =>
      check(address, { chainId: undefined }, { ownNode: async () => ({ ...OWN_VIEW, ...view }) })
    const report = await checkWith({ blockNumber: 3 })
    expect(report).toMatchObject({ ok: true, expectedChainId: '901' })
    expect(step(report, 'blocks')?.text).toMatch(/sent block 3$/)

    // The peer accepted this check's connection, which does not prove that it accepts our node.
    expect(step(report, 'connection')).toMatchObject({ outcome: 'ok', hint: expect.stringContaining('--identity') })
    const connected = [{ peerId: node.peerId, isInbound: false, address: undefined }]
    expect(step(await checkWith({ connected }), 'connection')).not.toHaveProperty('hint')

    const refused = await checkWith({ blockedSubnets: ['127.0.0.0/8'], blockedPeers: [node.peerId] })
    expect(refused).toMatchObject({ ok: false, failedAt: 'own node' })
    expect(step(refused, 'connection')).not.toHaveProperty('hint')
    expect(refused.verdict).toMatch(/^the peer is reachable, but our node refuses it: the peer id is on the block list/)
    expect((await checkWith({ chainId: 5n })).failedAt).toBe('topics')
  })

  it('is reported when it does not answer, and when its key is used', async () => {
    const { address, node } = await ourNode()
    const away = await check(address, {}, { ownNode: () => Promise.reject(new Error('nobody there')) })
    expect(away.ok).toBe(true)
    expect(step(away, 'own node')).toMatchObject({ outcome: 'skipped', text: 'nobody there' })

    const key = new Uint8Array(randomBytes(32))
    const peerId = identityFromRawKey(key).peerId.toString()
    const same = await check(address, { privateKey: key }, { ownNode: async () => ({ ...OWN_VIEW, peerId }) })
    expect(same.steps.filter(({ step: name }) => name === 'own node')).toMatchObject([{}, { outcome: 'warning' }])
    expect(node.connectedPeers()).not.toContain('us')
  })
})

describe('stopping', () => {
  it('ends a check at once', async () => {
    const address = await startRawServer(() => {})
    const controller = new AbortController()
    const running = check(address, { signal: controller.signal }, { onStep: () => controller.abort(new Error('stop')) })
    await expect(running).rejects.toThrow('stop')
  })
})
