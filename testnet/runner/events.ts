import type { Hex } from '../../src/lib/hex.ts'
import type { L1Addresses } from '../l1/contracts.ts'
import type { TestnetStatus } from './status.ts'

export interface NodeEndpoints {
  name: string
  rollupRpc: string
  ethRpc: string
  engineRpc: string
  metrics: string
  /** Multiaddress with peer id, as `--p2p.static` takes it. */
  p2p: string
  peerId: string
  /** Path of the Engine API's secret. */
  jwt: string
}

/** Where everything is: the answer to "what can I connect to?". */
export interface Endpoints {
  dir: string
  l1: { rpc: string; chainId: number; blockTime: number; contracts: L1Addresses }
  l2: { chainId: number; blockTime: number }
  /** The first is the sequencer. */
  nodes: NodeEndpoints[]
  batcher: { adminRpc: string; metrics: string; address: Hex }
  accounts: { name: string; address: Hex; privateKey: Hex }[]
  /** What one more node needs: genesis.json, rollup.json, join.txt. */
  joinDir: string
}

export interface Milestone {
  what: string
  /** Since the runner's process began. */
  seconds: number
}

/** Everything that the runner tells; with `--json` each is one line. */
export type TestnetEvent =
  | { event: 'starting'; dir: string; resumed: boolean; nodes: number }
  /** A kept chain is up again after a pause, whose L2 blocks the sequencer makes first. */
  | { event: 'resumed'; l1Block: number; pauseSeconds: number }
  | ({ event: 'progress' } & Milestone)
  | ({ event: 'ready'; seconds: number; milestones: Milestone[]; safeHeight: number } & Endpoints)
  | ({ event: 'status' } & TestnetStatus)
  | { event: 'stopping'; reason: string }
  | { event: 'stopped-part'; what: string }
  | { event: 'warning'; message: string }
  | { event: 'stopped' }

export type Emit = (event: TestnetEvent) => void
