import { describe, expect, it } from 'vitest'
import {
  CUT_KINDS,
  catchUp,
  cutLink,
  droppingLinks,
  killStaticPeer,
  partition,
  restartSequencer,
  SHAPES,
} from '../support/faultScenarios.ts'

// Short forms of what bench/faults.ts runs at full length.

describe.concurrent('a network', () => {
  describe('a link that is cut for three seconds', () => {
    it.each(CUT_KINDS)('%s: the follower has the newest block again before the next cut', async (kind) => {
      const report = await cutLink({ kind, blockTimeS: 1, cycles: 2, openMs: 6_000 })
      expect(report).toMatchObject({ bans: 0, sameChain: true })
      expect(report.worstCaughtUpMs).toBeLessThan(6_000)
      expect(report.lowestScore).toBeGreaterThanOrEqual(0)
    })
  })

  describe('links that drop by turns, in a network of three', () => {
    it.each(CUT_KINDS)('%s: every block arrives at once, by the way that is left', async (kind) => {
      const report = await droppingLinks(kind, 3)
      expect(report).toMatchObject({ bans: 0, sameChain: true })
      expect(report.slowestMs).toBeLessThan(1_000)
    })
  })

  describe('five nodes, two of which are cut off for ten seconds', () => {
    it.each(SHAPES)('are on one head soon after, as a %s', async (shape) => {
      const report = await partition(shape, 'forgotten', 10_000)
      expect(report.missed).toBeGreaterThan(5)
      expect(report.healedMs).toBeLessThan(10_000)
      expect(report).toMatchObject({ bans: 0 })
    })
  })
})

describe('a peer', () => {
  it('that is killed is connected again as soon as it is back', async () => {
    const report = await killStaticPeer(2_000)
    expect(report.noticedMs).toBeLessThan(1_000)
    expect(report.reconnectedMs).toBeLessThan(3_000)
  })

  it('that sequences is followed again when it is back', async () => {
    const report = await restartSequencer(2_000)
    expect(report.blockAfterMs).toBeLessThan(3_000)
  })

  it('that answers slowly does not hold up one that has fallen behind', async () => {
    const report = await catchUp(50, { helpers: [{ answerMs: 4_000 }] })
    expect(report.caughtUpMs).toBeLessThan(8_000)
  })
})
