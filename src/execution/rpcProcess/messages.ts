import type { Hex } from '../../lib/hex.ts'
import type { SignedTransaction } from '../primitives/block.ts'
import type { RpcOptions } from '../rpc/options.ts'
import type { CallCounts } from './callCounts.ts'

// Messages between the engine process and an RPC process. Node's IPC channel carries them, and sockets with them.

export type PortName = 'http' | 'ws'

export interface PortOptions {
  /** Undefined: the port serves WebSockets only. */
  http?:
    | {
        methods: readonly string[]
        allowedHosts?: readonly string[]
        corsOrigins?: readonly string[]
        version: string
        /** Age of the head up to which `/readyz` answers 200. Absent: no such path. */
        readyAgeS?: number
      }
    | undefined
  /** Undefined: the port serves no WebSockets. */
  webSockets?: { methods: readonly string[]; allowedOrigins: readonly string[] } | undefined
}

export interface RpcProcessOptions {
  rpc: RpcOptions
  maxBatchSize: number
  ports: Partial<Record<PortName, PortOptions>>
  /** Whether it records calls for metrics. */
  isMeasured: boolean
}

export type ToRpcProcess =
  | { kind: 'start'; config: unknown; genesis: Hex; options: RpcProcessOptions }
  /** Sent with the socket. */
  | { kind: 'connection'; id: number; port: PortName }
  /** An answer, or the next part of a long answer. */
  | { kind: 'answer'; id: number; text: string; isEnd: boolean }
  | { kind: 'head'; head: Hex; removed: Hex[]; added: Hex[] }
  | { kind: 'transaction'; transaction: SignedTransaction }
  | { kind: 'report'; id: number }
  /** Liveness check. The RPC process answers with `alive`. */
  | { kind: 'watch' }
  | { kind: 'close' }

export type FromRpcProcess =
  | { kind: 'ready' }
  /** A JSON-RPC request that only the engine process can run. */
  | { kind: 'request'; id: number; request: string }
  /** The client has read the last part of the answer. */
  | { kind: 'more'; id: number }
  /** The client has disconnected. */
  | { kind: 'cancel'; id: number }
  /** The events that subscribers need. */
  | { kind: 'subscribe'; heads: boolean; transactions: boolean }
  /** The RPC process has received the connection. */
  | { kind: 'taken'; id: number }
  | { kind: 'closed' }
  | { kind: 'alive' }
  | { kind: 'report'; id: number; report: RpcReport }
  | { kind: 'log'; level: 'warn' | 'error'; message: string; fields: Record<string, unknown> }

/** Calls since the last report. The other fields are gauges. */
export interface RpcReport {
  calls: CallCounts
  running: number
  waiting: number
  webSockets: number
}
