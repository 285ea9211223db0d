import type { Registry } from 'prom-client'
import type { Clock } from '../lib/clock.ts'
import type { Logger } from '../lib/logger.ts'
import type { PayloadEnvelope } from '../rollup/protocol/types.ts'
import type { P2pApi } from './base/api.ts'
import type { HeadNews } from './base/healthReport.ts'
import type { P2pChain } from './base/options.ts'
import type { FindGateway } from './nat/gateway.ts'

export interface P2pModules {
  logger: Logger
  clock: Clock
  registry: Registry
  chain: P2pChain
  /** How the router is found; by default on the networks of this machine, by UPnP and NAT-PMP. */
  findGateway?: FindGateway
  /** The program is told to stop: nothing is begun any more. `stop` closes the node. */
  signal?: AbortSignal
}

/** Hears of each new valid block of another node; `from` is the peer that passed it on, `way` whether it was asked to. */
export type PayloadListener = (envelope: PayloadEnvelope, from: string, way: 'gossip' | 'request') => void

/** A running p2p node. */
export interface P2pNode extends P2pApi {
  readonly peerId: string
  /** Listens, joins the topics and dials the static peers. Throws UsageError when the port is taken. */
  start(): Promise<void>
  /** Undoes a whole or half-done start. */
  stop(): Promise<void>
  /** Signs and publishes a block of this node's own sequencer; throws P2pError `no-signer` without a key. */
  publish(envelope: PayloadEnvelope): Promise<void>
  /** The returned function ends it. */
  onPayload(listener: PayloadListener): () => void
  /**
   * Asks peers for the blocks from `start` (inclusive) to `end` (exclusive); those that fit arrive through `onPayload`.
   * They are checked by the block at `end`: `above`, or else one that gossip has brought.
   */
  requestRange(start: number, end: number, above?: PayloadEnvelope): boolean
  /** Tell it whenever the unsafe head has moved: health is judged by that. */
  headMoved(news: HeadNews): void
  /** Peers in the mesh of the topic that carries the chain's blocks now. */
  meshSize(): number
  connectedPeers(): string[]
  /** Addresses that this node listens on, or announces, ending in its peer id. */
  multiaddrs(): string[]
}
