import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import { BUDGETS, createPeerConduct, DROPS_PER_REPORT } from './conduct.ts'
import { OFFENCES } from './offences.ts'

function setUp() {
  const clock = new ManualClock(1_000)
  const seen: [string, number, string][] = []
  const conduct = createPeerConduct({ clock, penalise: (peer, points, offence) => seen.push([peer, points, offence]) })
  return { clock, conduct, seen }
}

describe('a budget', () => {
  it('lets a burst pass, then so many a second, each peer for itself', async () => {
    const { clock, conduct } = setUp()
    const spendAll = (peer: string) => {
      let count = 0
      while (conduct.spend(peer, 'pings')) count += 1
      return count
    }
    expect(spendAll('a')).toBe(BUDGETS.pings.burst)
    await clock.advance(2_000)
    expect(spendAll('a')).toBe(2 * BUDGETS.pings.perSecond)
    expect(spendAll('b')).toBe(BUDGETS.pings.burst)
  })

  it('of bytes may be overdrawn once, by the largest block, and what turned out well is given back', () => {
    const { conduct } = setUp()
    const { burst } = BUDGETS.messageBytes
    expect(conduct.spend('a', 'messageBytes', burst - 1)).toBe(true)
    expect(conduct.spend('a', 'messageBytes', 10_000_000)).toBe(true)
    expect(conduct.spend('a', 'messageBytes', 1)).toBe(false)
    conduct.giveBack('a', 'messageBytes', 10_000_000)
    expect(conduct.spend('a', 'messageBytes', 1)).toBe(true)
  })
})

describe('offences', () => {
  it('of dropping are counted in hundreds', () => {
    const { conduct, seen } = setUp()
    for (let n = 0; n < 2 * DROPS_PER_REPORT + 99; n++) conduct.drop('a', 'rpc-flood')
    conduct.drop('b', 'rpc-flood')
    expect(seen).toEqual([
      ['a', OFFENCES['rpc-flood'].points, 'rpc-flood'],
      ['a', OFFENCES['rpc-flood'].points, 'rpc-flood'],
    ])
  })

  it('count what is dropped together by its number', () => {
    const { conduct, seen } = setUp()
    conduct.drop('a', 'rpc-flood', DROPS_PER_REPORT - 1)
    expect(seen).toHaveLength(0)
    conduct.drop('a', 'rpc-flood', 2 * DROPS_PER_REPORT)
    expect(seen).toHaveLength(2)
    conduct.drop('a', 'rpc-flood')
    expect(seen).toHaveLength(3)
  })

  it('stand in the document with their price, and no others do', () => {
    const text = readFileSync(new URL('../OFFENCES.md', import.meta.url), 'utf8')
    const rows = [...text.matchAll(/`([a-z-]+)` \((\d+) points?\)/g)].map(([, name, points]) => [name, Number(points)])
    const documented = Object.fromEntries(rows)
    expect(documented).toEqual(Object.fromEntries(Object.entries(OFFENCES).map(([name, { points }]) => [name, points])))
  })
})
