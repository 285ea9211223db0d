import type { Hex } from '../../lib/hex.ts'
import type { SignedTransaction } from '../primitives/block.ts'
import type { RpcOptions } from '../rpc/options.ts'

// The messages between the engine process and an RPC process. Node's channel carries them, and sockets with them.

export type PortName = 'http' | 'ws'

/** One public port. */
export interface PortOptions {
  /** undefined: the port serves WebSockets only. */
  http?:
    | { methods: readonly string[]; allowedHosts?: readonly string[]; corsOrigins?: readonly string[]; version: string }
    | undefined
  /** undefined: the port serves no WebSockets. */
  webSockets?: { methods: readonly string[]; allowedOrigins: readonly string[] } | undefined
}

/** The configuration of an RPC process. */
export interface RpcProcessOptions {
  rpc: RpcOptions
  maxBatchSize: number
  ports: Partial<Record<PortName, PortOptions>>
  /** Whether it counts calls for metrics. */
  isMeasured: boolean
}

export type ToRpcProcess =
  | { kind: 'start'; config: unknown; genesis: Hex; options: RpcProcessOptions }
  /** The socket goes along. */
  | { kind: 'connection'; id: number; port: PortName }
  /** An answer, or the next part of a long one. */
  | { kind: 'answer'; id: number; text: string; isEnd: boolean }
  | { kind: 'head'; removed: Hex[]; added: Hex[] }
  | { kind: 'transaction'; transaction: SignedTransaction }
  /** To be answered with a report. */
  | { kind: 'report'; id: number }
  /** To be answered with `alive`. */
  | { kind: 'watch' }
  | { kind: 'close' }

export type FromRpcProcess =
  | { kind: 'ready' }
  /** A JSON-RPC request that only the engine process can run. */
  | { kind: 'ask'; id: number; request: string }
  /** Its client has read the last part of the answer. */
  | { kind: 'more'; id: number }
  /** Its client has gone. */
  | { kind: 'cancel'; id: number }
  /** Which events its subscribers want. */
  | { kind: 'follow'; heads: boolean; transactions: boolean }
  /** The connection is the process's now. */
  | { kind: 'taken'; id: number }
  /** A connection has closed. */
  | { kind: 'closed' }
  | { kind: 'alive' }
  | { kind: 'report'; id: number; report: RpcReport }
  | { kind: 'log'; level: 'warn' | 'error'; message: string; fields: Record<string, unknown> }

/** Since the last report, but for the gauges. */
export interface RpcReport {
  calls: ReportedCall[]
  /** Gauges. */
  running: number
  waiting: number
  webSockets: number
}

export interface ReportedCall {
  method: string
  durationMs: number
  error: { code: number; message: string } | undefined
}
