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
    it.each(CUT_KINDS)('%s: the follower has the newest block again', async (kind) => {
      const report = await cutLink({ kind, blockTimeS: 1, cycles: 2, openMs: 0 })
      expect(report).toMatchObject({ bans: 0, sameChain: true })
      expect(report.lowestScore).toBeGreaterThanOrEqual(0)
    })
  })

  describe('links that drop by turns, in a network of three', () => {
    it.each(CUT_KINDS)('%s: blocks arrive by the way that is left', async (kind) => {
      const report = await droppingLinks(kind, 3)
      expect(report).toMatchObject({ bans: 0, sameChain: true })
    })
  })

  describe('five nodes, two of which are cut off for ten seconds', () => {
    it.each(SHAPES)('are on one head again, as a %s', async (shape) => {
      const report = await partition(shape, 'forgotten', 10_000)
      expect(report.missed).toBeGreaterThan(0)
      expect(report).toMatchObject({ bans: 0 })
    })
  })
})

// The scenarios wait for these; bench/faults.ts says how soon it is.
describe('a peer', () => {
  it('that is killed is connected again when it is back', async () => {
    await killStaticPeer(2_000)
  })

  it('that sequences is followed again when it is back', async () => {
    await restartSequencer(2_000)
  })

  it('that answers nothing does not hold up one that has fallen behind', async () => {
    await catchUp(50, { helpers: [{ beforeAnswer: () => new Promise(() => {}) }] })
  })
})
