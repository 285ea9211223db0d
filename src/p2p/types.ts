import type { Registry } from 'prom-client'
import type { Clock } from '../lib/clock.ts'
import type { Logger } from '../lib/logger.ts'
import type { PayloadEnvelope } from '../rollup/protocol/types.ts'
import type { P2pApi } from './base/api.ts'
import type { HeadEvent } from './base/healthReport.ts'
import type { P2pChain } from './base/options.ts'
import type { FindNatRouter } from './nat/natRouter.ts'

export interface P2pModules {
  logger: Logger
  clock: Clock
  registry: Registry
  chain: P2pChain
  /** Finds the router. Default: UPnP and NAT-PMP on the networks of this machine. */
  findNatRouter?: FindNatRouter
  /** Aborted when the program must stop. After that no new work begins. `stop` closes the node. */
  signal?: AbortSignal
}

/** Receives each new valid block of another node. `from` is the peer that sent it; `way` is gossip or a request. */
export type PayloadListener = (envelope: PayloadEnvelope, from: string, way: 'gossip' | 'request') => void

/** A running p2p node. */
export interface P2pNode extends P2pApi {
  readonly peerId: string
  /** Listens, joins the topics and dials the static peers. Throws UsageError when the port is taken. */
  start(): Promise<void>
  /** Undoes a complete or partial start. */
  stop(): Promise<void>
  /** Signs and publishes a block of this node's own sequencer. Throws P2pError `no-signer` without a key. */
  publish(envelope: PayloadEnvelope): Promise<void>
  /** The returned function unsubscribes. */
  onPayload(listener: PayloadListener): () => void
  /**
   * Requests the blocks from `start` (inclusive) to `end` (exclusive) from peers; matching blocks arrive through
   * `onPayload`. The blocks are verified by the parent hash of the block at `end`: `above`, or a block received by
   * gossip.
   */
  requestRange(start: number, end: number, above?: PayloadEnvelope): boolean
  /** Must be called whenever the unsafe head moves. The health monitor uses it. */
  headMoved(event: HeadEvent): void
  /** Peers in the mesh of the topic that carries the chain's blocks now. */
  meshSize(): number
  connectedPeers(): string[]
  /** Addresses that this node listens on or announces, ending in its peer id. */
  multiaddrs(): string[]
}
