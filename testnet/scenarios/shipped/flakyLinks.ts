import { agree, blocks, gossiped, nobodyBanned } from '../conditions.ts'
import type { Scenario } from '../scenario.ts'

/** A node that derives only from L1 is further behind. */
const MOST_BEHIND = 5

export const flakyLinks: Scenario = {
  about: 'Over slow and lossy links, under load, blocks still arrive by gossip, and no peer is banned for a bad link.',
  async steps({ run, waitFor, check, holds }) {
    await run('load 20')
    await run('link all delay=150ms,loss=3%,rate=200kB')
    await waitFor('blocks arrive by gossip', gossiped())
    await holds(
      `all nodes have a peer, and are at most ${MOST_BEHIND} blocks behind`,
      ({ names, head, unsafe, peers }) => names.every((name) => peers(name) > 0 && head - unsafe(name) <= MOST_BEHIND),
      blocks(15),
    )
    await waitFor('blocks arrive by gossip', gossiped())
    await check('nobody was banned', nobodyBanned)
    await run('heal')
    await run('load off')
    await waitFor('all nodes agree', agree())
  },
}
