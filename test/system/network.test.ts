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

// Short forms of bench/faults.ts.

describe.concurrent('a network', () => {
  describe('a link that is cut for three seconds', () => {
    it.each(CUT_KINDS)('%s: the follower gets the unsafe head again', async (kind) => {
      const report = await cutLink({ kind, blockTimeS: 1, cycles: 2, openMs: 0 })
      expect(report).toMatchObject({ bans: 0, sameChain: true })
      expect(report.lowestScore).toBeGreaterThanOrEqual(0)
    })
  })

  describe('links that drop in turn, in a network of three', () => {
    it.each(CUT_KINDS)('%s: blocks arrive by the remaining path', async (kind) => {
      const report = await droppingLinks(kind, 3)
      expect(report).toMatchObject({ bans: 0, sameChain: true })
    })
  })

  describe('five nodes, two of which are partitioned for ten seconds', () => {
    it.each(SHAPES)('agree on one head again, as a %s', async (shape) => {
      const report = await partition(shape, 'forgotten', 10_000)
      expect(report.missed).toBeGreaterThan(0)
      expect(report).toMatchObject({ bans: 0 })
    })
  })
})

// The scenarios wait for these events. bench/faults.ts measures the times.
describe('a peer', () => {
  it('that is killed is connected again after its restart', async () => {
    await killStaticPeer(2_000)
  })

  it('that is the sequencer is followed again after its restart', async () => {
    await restartSequencer(2_000)
  })

  it('that never answers does not delay a node that is behind', async () => {
    await catchUp(50, { helpers: [{ beforeAnswer: () => new Promise(() => {}) }] })
  })
})
