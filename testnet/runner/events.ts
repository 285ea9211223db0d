import type { CommandResult } from '../../src/cli/operator/testnet/commandTable.ts'
import type { Hex } from '../../src/lib/hex.ts'
import type { Fork } from '../../src/rollup/protocol/index.ts'
import type { ChainParameters } from '../chainParameters.ts'
import type { NodeClientNames } from '../clients/clients.ts'
import { forksAround } from '../forks.ts'
import type { L1Addresses } from '../l1/contracts.ts'
import type { Ending } from '../process/managedProcess.ts'
import type { TestnetStatus } from './status.ts'

export interface NodeEndpoints {
  name: string
  /** Its programs that are not ours. */
  clients?: NodeClientNames
  rollupRpc: string
  ethRpc: string
  /** The same over WebSocket, with subscriptions. */
  ethWs: string
  engineRpc: string
  metrics: string
  /** Of the execution client. */
  gethMetrics: string
  /** Multiaddress with peer id, as `--p2p.static` takes it. */
  p2p: string
  peerId: string
  /** Path of the Engine API's secret. */
  jwt: string
}

/** Which rules the chain has, and from when on. */
export interface ForkPlan {
  /** Active from the genesis block on. */
  genesis: Fork
  /** Those to come after the genesis block, in order; times in unix seconds. */
  later: { fork: Fork; time: number }[]
}

/** Where everything is: the answer to "what can I connect to?". */
export interface Endpoints {
  /** The page that shows all nodes. */
  dashboard: string
  /** File with the bearer token that RPCs ask for, by which something is changed; undefined: only this machine reaches them. */
  tokenFile?: string | undefined
  dir: string
  l1: {
    rpc: string
    /** Absent: L1 itself serves blobs, by block number. */
    beacon: string
    chainId: number
    blockTime: number
    contracts: L1Addresses
  }
  l2: { chainId: number; blockTime: number; genesisTime: number; forks: ForkPlan }
  /** The first is the sequencer. */
  nodes: NodeEndpoints[]
  batcher: { adminRpc: string; metrics: string; address: Hex }
  accounts: { name: string; address: Hex; privateKey: Hex }[]
  /** Contracts and RPCs, for applications (see addressBook). */
  addressesFile: string
  /** For `devium testnet join`, on a machine that reaches it. */
  joinUrl: string
  /** What one more node needs: genesis.json, rollup.json, l1.json, join.txt, and what Lagoon needs. */
  joinDir: string
}

export interface Milestone {
  what: string
  /** Since the runner's process began. */
  seconds: number
}

/** Everything that the runner tells; with `--json` each is one line. */
export type TestnetEvent =
  | { event: 'starting'; dir: string; resumed: boolean; nodes: number; memoryBytes: number; forks: ForkPlan }
  /** A kept chain is up again after a pause, whose L2 blocks the sequencer makes first. */
  | { event: 'resumed'; l1Block: number; pauseSeconds: number }
  | ({ event: 'progress' } & Milestone)
  | ({ event: 'ready'; seconds: number; milestones: Milestone[]; safeHeight: number } & Endpoints)
  /** The sequencer has made the first block of a fork. */
  | { event: 'fork'; fork: Fork; block: number }
  | ({ event: 'status' } & TestnetStatus)
  /** A program has ended by itself, and the others go on. */
  | ({ event: 'ended'; program: string } & Ending)
  | { event: 'started-again'; program: string }
  /** A command was followed. */
  | ({ event: 'command' } & CommandResult)
  /** A scenario begins. */
  | { event: 'scenario'; name: string; about: string }
  /** A step of it has ended; those that are commands are told as such. */
  | { event: 'step'; what: string; passed: boolean; seconds: number }
  | { event: 'verdict'; name: string; passed: boolean; seconds: number; why?: string }
  /** Where it is written what happened: for programs, and as a page. */
  | { event: 'timeline'; json: string; page: string }
  | { event: 'stopping'; reason: string }
  | { event: 'stopped-part'; what: string }
  | { event: 'warning'; message: string }
  | { event: 'stopped' }

export type Emit = (event: TestnetEvent) => void

export function forkPlan({ forks }: Pick<ChainParameters, 'forks'>): ForkPlan {
  const plan: ForkPlan = { genesis: forksAround(forks, 0).active, later: [] }
  for (let time = 0; ; ) {
    const { next } = forksAround(forks, time)
    if (next === undefined) return plan
    plan.later.push(next)
    time = next.time
  }
}

/** The last that comes. */
export function newestFork(chain: Pick<ChainParameters, 'forks'>): Fork {
  const { genesis, later } = forkPlan(chain)
  return later.at(-1)?.fork ?? genesis
}

/** Since this process began, Node's own start included. */
export function secondsSinceStart(): number {
  return Math.round(performance.now() / 10) / 100
}
