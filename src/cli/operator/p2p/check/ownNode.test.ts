import { describe, expect, it } from 'vitest'
import { judgeOwnView, type OwnNodeView } from './ownNode.ts'

const VIEW: OwnNodeView = {
  peerId: 'us',
  chainId: 901n,
  blockNumber: 7,
  blockedPeers: [],
  blockedIps: [],
  blockedSubnets: [],
  bans: [],
  connected: [],
}
const judge = (changes: Partial<OwnNodeView>, peerId: string | undefined = 'peer', ips = ['10.0.0.9', '2001:db8::1']) =>
  judgeOwnView({ ...VIEW, ...changes }, { peerId, ips })

describe('judgeOwnView', () => {
  it.each([
    [{ blockedPeers: ['peer'] }, /peer id is on the block list/, 'peer'],
    [{ blockedIps: ['10.0.0.9'] }, /10\.0\.0\.9 is on the block list/, '10.0.0.9'],
    [{ blockedSubnets: ['10.0.0.0/8'] }, /subnet 10\.0\.0\.0\/8/, '10.0.0.0/8'],
    [{ blockedSubnets: ['2001:db8::/32'] }, /subnet 2001:db8::\/32/, '2001:db8::/32'],
  ])('reports a block list and the command to change it: %o', (changes, text, lift) => {
    expect(judge(changes)).toMatchObject({
      outcome: 'failed',
      text: expect.stringMatching(text),
      hint: `to allow it: devium p2p unblock ${lift}`,
    })
  })

  it('reports reason and end of a ban', () => {
    const ban = {
      subject: 'peer',
      kind: 'peer' as const,
      reason: 'score -120',
      untilMs: 1_700_000_000_000,
      remainingS: 61,
    }
    expect(judge({ bans: [ban] })).toMatchObject({
      outcome: 'failed',
      text: 'our node refuses it: the peer is banned until 2023-11-14 22:13:20Z (2 min more): score -120',
    })
    expect(judge({ bans: [{ ...ban, subject: '10.0.0.9', kind: 'ip' }] }).outcome).toBe('failed')
    expect(judge({ bans: [{ ...ban, subject: 'another' }] }).outcome).toBe('ok')
  })

  it('detects a connected peer, and our own node', () => {
    const connected = [{ peerId: 'peer', isInbound: true, address: '/ip4/10.0.0.9/tcp/5/p2p/peer' }]
    expect(judge({ connected }).text).toBe('connected: it dialled us from /ip4/10.0.0.9/tcp/5')
    expect(judge({ connected: connected.map((peer) => ({ ...peer, isInbound: false })) }).text).toBe(
      'connected: we dialled it',
    )
    expect(judge({}, 'us')).toMatchObject({ outcome: 'warning', text: 'this is our own node' })
  })
})
