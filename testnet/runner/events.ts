import type { CommandResult } from '../../src/cli/operator/testnet/commandTable.ts'
import type { Hex } from '../../src/lib/hex.ts'
import type { Fork } from '../../src/rollup/protocol/index.ts'
import type { Account } from '../accounts.ts'
import type { ChainParameters } from '../chainParameters.ts'
import type { NodeClientNames } from '../clients/clients.ts'
import { forksAround } from '../forks.ts'
import type { L1Addresses } from '../l1/contracts.ts'
import type { Ending } from '../process/managedProcess.ts'
import type { TestnetStatus } from './status.ts'

export interface NodeEndpoints {
  name: string
  /** Names of its third-party programs. */
  clients?: NodeClientNames | undefined
  rollupRpc: string
  ethRpc: string
  /** The same RPC over WebSocket, with subscriptions. */
  ethWs: string
  engineRpc: string
  metrics: string
  gethMetrics: string
  /** Multiaddress with peer id, for `--p2p.static`. */
  p2p: string
  peerId: string
  /** Path of the Engine API's secret. */
  jwt: string
}

/** The forks of the chain and their times. */
export interface ForkPlan {
  /** Active from the genesis block. */
  genesis: Fork
  /** Forks after the genesis block, in order. Times are in unix seconds. */
  later: { fork: Fork; time: number }[]
}

/** The URLs, files and accounts of a testnet: everything a user can connect to. */
export interface Endpoints {
  /** URL of the page that shows all nodes. */
  dashboard: string
  /**
   * File with the bearer token, which RPC methods that change something require. Undefined if only this machine reaches the RPCs.
   */
  tokenFile?: string | undefined
  dir: string
  l1: {
    rpc: string
    beacon: string
    chainId: number
    blockTime: number
    contracts: L1Addresses
  }
  l2: { chainId: number; blockTime: number; genesisTime: number; forks: ForkPlan }
  /** The first is the sequencer. */
  nodes: NodeEndpoints[]
  batcher: { adminRpc: string; metrics: string; address: Hex }
  accounts: readonly Account[]
  /** Path of the file with contracts and RPCs for applications (see addressBook). */
  addressesFile: string
  /** URL for `devium testnet join` on a machine that reaches it. */
  joinUrl: string
  /** Directory with the files of a joining node: genesis.json, rollup.json, l1.json, join.txt, and Lagoon's files. */
  joinDir: string
}

export interface Milestone {
  what: string
  /** Seconds since the start of the runner's process. */
  seconds: number
}

/** All events of the runner. With `--json` each is one line. */
export type TestnetEvent =
  | { event: 'starting'; dir: string; resumed: boolean; nodes: number; memoryBytes: number; forks: ForkPlan }
  /** A kept chain runs again after a pause. The sequencer first builds the blocks of the pause. */
  | { event: 'resumed'; l1Block: number; pauseSeconds: number }
  | ({ event: 'progress' } & Milestone)
  | ({ event: 'ready'; seconds: number; milestones: Milestone[]; safeHeight: number } & Endpoints)
  /** The sequencer has built the first block of a fork. */
  | { event: 'fork'; fork: Fork; block: number }
  | ({ event: 'status' } & TestnetStatus)
  /** A program has exited unexpectedly, and the others continue. */
  | ({ event: 'ended'; program: string } & Ending)
  | { event: 'started-again'; program: string }
  /** A command has succeeded. */
  | ({ event: 'command' } & CommandResult)
  /** A scenario starts. */
  | { event: 'scenario'; name: string; about: string }
  /** A step of a scenario has ended. Commands have an event of their own. */
  | { event: 'step'; what: string; passed: boolean; seconds: number }
  | { event: 'verdict'; name: string; passed: boolean; seconds: number; why?: string }
  /** Paths of the timeline, for programs and as a page. */
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

/** The latest fork in the plan. */
export function newestFork(chain: Pick<ChainParameters, 'forks'>): Fork {
  const { genesis, later } = forkPlan(chain)
  return later.at(-1)?.fork ?? genesis
}

/** Seconds since this process started, including Node's start. */
export function secondsSinceStart(): number {
  return Math.round(performance.now() / 10) / 100
}
