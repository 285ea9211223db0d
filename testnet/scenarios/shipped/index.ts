import type { Scenario } from '../scenario.ts'
import { addNode } from './addNode.ts'
import { batcherDies } from './batcherDies.ts'
import { deadStaticPeers } from './deadStaticPeers.ts'
import { fiftyNodes } from './fiftyNodes.ts'
import { flakyLinks } from './flakyLinks.ts'
import { forkByFork } from './forkByFork.ts'
import { hostilePeers } from './hostilePeers.ts'
import { l1Reorg } from './l1Reorg.ts'
import { partition } from './partition.ts'
import { sequencerMoves } from './sequencerMoves.ts'

/** Keyed by the names that `--scenario` accepts. */
export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  partition,
  'flaky-links': flakyLinks,
  'hostile-peers': hostilePeers,
  'l1-reorg': l1Reorg,
  'batcher-dies': batcherDies,
  'sequencer-moves': sequencerMoves,
  'fork-by-fork': forkByFork,
  'dead-static-peers': deadStaticPeers,
  'add-node': addNode,
  'fifty-nodes': fiftyNodes,
}
