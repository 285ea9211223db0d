/** Types of RPC results, imported from the code that makes them. None of that code reaches a browser. */

import type { derivationStatusToJson } from '../src/rpc/derivationJson.ts'
import type { blockTimesToJson, deviumSyncStatus } from '../src/rpc/json.ts'

export type { HealthReport, StaticPeerHealth } from '../src/p2p/base/healthReport.ts'
export type { NodeHealth } from '../src/rpc/nodeHealth.ts'

import type { z } from 'zod'
import type { blockDetails } from '../src/rpc/schemas/blockDetails.ts'
import type { Events } from '../src/rpc/schemas/events.ts'
import type { nodeHealth } from '../src/rpc/schemas/health.ts'
import type { testnetCommand, testnetResult } from '../src/rpc/schemas/rollup.ts'

export type BlockDetails = z.output<typeof blockDetails>
export type { History, HistoryEvent } from '../src/rpc/schemas/history.ts'

/** The part of devium_health that does not change. */
export type NodeIdentity = z.output<typeof nodeHealth>['node']

/** One entry of devium_testnetCommands. */
export type TestnetCommand = z.output<typeof testnetCommand>
/** devium_testnetCommand. */
export type TestnetResult = z.output<typeof testnetResult>

export type SyncStatus = ReturnType<typeof deviumSyncStatus>
export type DerivationStatus = ReturnType<typeof derivationStatusToJson>
export type BlockTimes = ReturnType<typeof blockTimesToJson>

/** devium_batcherStatus: the part of admin_batcherStatus that the page shows. */
export interface BatcherStatus {
  why: string
  ok: boolean
  running: boolean
  from: string
  pendingBlocks: number
  heldBytes: number
  openChannel: { firstBlock: number; lastBlock: number; inputBytes: number } | null
  channelsToConfirm: number
  inFlight: {
    nonce: number
    hash: string
    blobs: number
    startedAtMs: number
    bumps: number
    feeCapWei: string
    minedIn: number | null
    problem: string | null
  }[]
  lastHour: { transactions: number; bytes: number; costGwei: number }
  throttling: boolean
}

export type PeerNotification = Events['peers' | 'bans']
