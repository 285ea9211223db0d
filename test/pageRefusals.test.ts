import { describe, expect, it } from 'vitest'
import { parseBlocks, refusalsOf, unblockMethod } from '../dashboard/refusals.ts'

describe('the list of refused peers', () => {
  it('has reason, author and time of each entry, bans first', () => {
    const ban = {
      subject: '1.2.3.4',
      kind: 'ip' as const,
      reason: 'score -120 is below -100',
      untilMs: 5,
      remainingS: 3,
    }
    const noon = new Date().setHours(12, 0, 0, 0)
    const blocks = [
      { subject: 'abc', kind: 'peer' as const, reason: 'sent old blocks', sinceMs: noon },
      { subject: '10.0.0.0/8', kind: 'subnet' as const, reason: '', sinceMs: null },
    ]
    expect(refusalsOf({ blocks }, [ban])).toEqual([
      { subject: '1.2.3.4', kind: 'address', reason: 'score -120 is below -100', by: 'this node', untilMs: 5 },
      { subject: 'abc', kind: 'peer', reason: 'sent old blocks', by: 'operator, 12:00:00', untilMs: null },
      { subject: '10.0.0.0/8', kind: 'subnet', reason: 'no reason given', by: 'operator', untilMs: null },
    ])
    expect(unblockMethod('address')).toBe('deviump2p_unblockAddr')
  })

  it('can be read from a file', () => {
    const blocks = [{ subject: 'abc', kind: 'peer', reason: 'old blocks', sinceMs: 5 }, { subject: '10.1.2.3' }]
    expect(parseBlocks(JSON.stringify({ blocks }))).toEqual([
      { subject: 'abc', reason: 'old blocks' },
      { subject: '10.1.2.3', reason: '' },
    ])
    for (const text of ['{}', 'null', '{"peers":[]}']) expect(() => parseBlocks(text)).toThrow('"blocks"')
    for (const text of ['{"blocks":[1]}', '{"blocks":[{}]}']) expect(() => parseBlocks(text)).toThrow('subject')
  })
})
