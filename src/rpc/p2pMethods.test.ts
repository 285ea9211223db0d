import { beforeEach, describe, expect, it } from 'vitest'
import { createCalledRpc } from './testUtils/calledRpc.ts'
import { RECORD } from './testUtils/recorder.ts'

let { fixture, call } = createCalledRpc()
beforeEach(() => {
  ;({ fixture, call } = createCalledRpc())
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

  it('list a peer without addresses: an empty list, or null as op-node', async () => {
    const bare = { ...RECORD, addresses: [] }
    fixture.p2p.self = async () => bare
    fixture.p2p.peers = async () => ({
      ...{ totalConnected: 0, peers: { [RECORD.peerID]: bare } },
      ...{ bannedPeers: [], bannedIPS: [], bannedSubnets: [], timeBans: [] },
    })
    const theirs = { ...RECORD, addresses: null }
    expect((await call('deviump2p_self')).result).toEqual(bare)
    expect((await call('opp2p_self')).result).toEqual(theirs)
    expect((await call('deviump2p_peers', [false])).result).toMatchObject({ peers: { [RECORD.peerID]: bare } })
    expect((await call('opp2p_peers', [false])).result).toMatchObject({ peers: { [RECORD.peerID]: theirs } })
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
      ['connectPeer', RECORD.addresses[0] ?? ''],
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
