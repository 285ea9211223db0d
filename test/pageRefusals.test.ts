import { describe, expect, it } from 'vitest'
import { kindOf, methodFor, parseLists, refusalsOf } from '../dashboard/refusals.ts'

describe('who is refused', () => {
  it('is listed with the reason and who set it, bans first', () => {
    const ban = {
      subject: '1.2.3.4',
      kind: 'ip' as const,
      reason: 'score -120 is below -100',
      untilMs: 5,
      remainingS: 3,
    }
    expect(refusalsOf({ peers: ['abc'], addresses: [], subnets: ['10.0.0.0/8'] }, [ban])).toEqual([
      { subject: '1.2.3.4', kind: 'address', reason: 'score -120 is below -100', by: 'this node', untilMs: 5 },
      { subject: 'abc', kind: 'peer', reason: 'on the block list', by: 'operator', untilMs: null },
      { subject: '10.0.0.0/8', kind: 'subnet', reason: 'on the block list', by: 'operator', untilMs: null },
    ])
  })

  it.each([
    ['16Uiu2HAm5UcGBcvZtAYgnANxy7LG', 'deviump2p_blockPeer'],
    ['10.1.2.3', 'deviump2p_blockAddr'],
    ['fd00::7', 'deviump2p_blockAddr'],
    ['fd00::/8', 'deviump2p_blockSubnet'],
  ])('is told by the form of %s', (subject, method) => {
    expect(methodFor('block', kindOf(subject))).toBe(method)
  })

  it('comes from a file only if that has all lists', () => {
    const lists = { peers: ['abc'], addresses: ['10.1.2.3'], subnets: [] }
    expect(parseLists(JSON.stringify(lists))).toEqual(lists)
    for (const text of ['{}', 'null', '{"peers":[1],"addresses":[],"subnets":[]}']) {
      expect(() => parseLists(text)).toThrow('it has no list of peers')
    }
  })
})
