import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import { OFFENCES } from './offences.ts'
import { BUDGETS, createPeerQuotas, DROPS_PER_REPORT } from './quotas.ts'

function setUp() {
  const clock = new ManualClock(1_000)
  const seen: [string, number, string][] = []
  const quotas = createPeerQuotas({ clock, penalise: (peer, points, offence) => seen.push([peer, points, offence]) })
  return { clock, quotas, seen }
}

describe('a budget', () => {
  it('allows a burst, then a rate, for each peer separately', async () => {
    const { clock, quotas } = setUp()
    const spendAll = (peer: string) => {
      let count = 0
      while (quotas.spend(peer, 'pings')) count += 1
      return count
    }
    expect(spendAll('a')).toBe(BUDGETS.pings.burst)
    await clock.advance(2_000)
    expect(spendAll('a')).toBe(2 * BUDGETS.pings.perSecond)
    expect(spendAll('b')).toBe(BUDGETS.pings.burst)
  })

  it('allows one overdraft of the largest block in the byte budget, and credits good messages back', () => {
    const { quotas } = setUp()
    const { burst } = BUDGETS.messageBytes
    expect(quotas.spend('a', 'messageBytes', burst - 1)).toBe(true)
    expect(quotas.spend('a', 'messageBytes', 10_000_000)).toBe(true)
    expect(quotas.spend('a', 'messageBytes', 1)).toBe(false)
    quotas.giveBack('a', 'messageBytes', 10_000_000)
    expect(quotas.spend('a', 'messageBytes', 1)).toBe(true)
  })
})

describe('offences', () => {
  it('count once per hundred drops of a peer, also for drops reported together', () => {
    const { quotas, seen } = setUp()
    const offence = ['a', OFFENCES['rpc-flood'].points, 'rpc-flood']
    for (let n = 0; n < DROPS_PER_REPORT - 1; n++) quotas.drop('a', 'rpc-flood')
    quotas.drop('b', 'rpc-flood')
    expect(seen).toEqual([])
    quotas.drop('a', 'rpc-flood', 2 * DROPS_PER_REPORT)
    expect(seen).toEqual([offence, offence])
    quotas.drop('a', 'rpc-flood')
    expect(seen).toEqual([offence, offence, offence])
  })

  const text = readFileSync(new URL('../OFFENCES.md', import.meta.url), 'utf8')

  it('OFFENCES.md lists exactly the offences of the code, with their points', () => {
    const rows = [...text.matchAll(/`([a-z-]+)` \((\d+) points?\)/g)].map(([, name, points]) => [name, Number(points)])
    const documented = Object.fromEntries(rows)
    expect(documented).toEqual(Object.fromEntries(Object.entries(OFFENCES).map(([name, { points }]) => [name, points])))
  })

  it.each([
    ['rpcs', 'beyond 4,000 and 1,000 a second', 1],
    ['fields', '80,000 and 20,000 members a second', 1],
    ['messages', 'beyond 250 and 50 a second', 1],
    ['messageBytes', '64 MiB and 16 MiB a second', 1024 * 1024],
    ['subscriptions', 'beyond 256 and 4 a second', 1],
    ['pings', '100 pings and 10 a second', 1],
    ['pushes', '16 and one a second', 1],
  ] as const)('OFFENCES.md states the budget of %s', (budget, words, unit) => {
    expect(text).toContain(words)
    const [burst, perSecond] = words.replaceAll(',', '').replace('one', '1').match(/\d+/g) ?? []
    expect(BUDGETS[budget]).toEqual({ perSecond: Number(perSecond) * unit, burst: Number(burst) * unit })
  })
})
