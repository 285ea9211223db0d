import { EventEmitter } from 'node:events'
import type { Connection } from '@libp2p/interface'
import type { Logger } from '../../lib/logger.ts'
import type { PayloadEnvelope } from '../../rollup/protocol/types.ts'
import type { Ban, BlockedSubject, ConnectionEnd, MeshCause, UnbanCause } from './records.ts'
import type { ResponseTerm } from './scoreTerms.ts'
import type { PayloadVersion } from './topics.ts'
import type { Verdict } from './verdict.ts'

/** op-node's names of the events that its pubsub tracer counts. */
export type GossipEvent =
  | 'PUBLISH_MESSAGE'
  | 'REJECT_MESSAGE'
  | 'DUPLICATE_MESSAGE'
  | 'DELIVER_MESSAGE'
  | 'ADD_PEER'
  | 'REMOVE_PEER'
  | 'RECV_RPC'
  | 'SEND_RPC'
  | 'DROP_RPC'
  | 'JOIN'
  | 'LEAVE'
  | 'GRAFT'
  | 'PRUNE'

/** Events of the p2p node with their arguments. A peer is named by its id. */
export interface P2pEventMap {
  /** The peer's first connection is open. */
  connected: [peer: string, address: string, direction: 'inbound' | 'outbound']
  /** The peer's last connection has closed. */
  disconnected: [peer: string, end: ConnectionEnd]
  /** A connected peer opened another connection. The other connections may be dead. */
  anotherConnection: [newest: Connection, others: readonly Connection[]]
  /** One of the peer's connections has closed; others are open. */
  fewerConnections: [peer: string]
  /** A peer connected, and the node is now at its connection limit. */
  full: []
  /** A dial of a static peer failed. */
  dialFailed: [peer: string, failure: { reason: string; text: string }]
  verdict: [peer: string, version: PayloadVersion, verdict: Verdict]
  /** A peer sent a copy of a message that was rejected before. */
  rejectedAgain: [peer: string, version: PayloadVersion, verdict: Verdict]
  /** A gossip message names its author, which StrictNoSign forbids. */
  author: [peer: string, version: PayloadVersion]
  /** A valid block of another node, not seen before on this way. */
  block: [envelope: PayloadEnvelope, peer: string, way: 'gossip' | 'request']
  /** A peer joined or left the mesh of a topic, by its own decision or ours, or was refused. */
  mesh: [change: 'graft' | 'prune', peer: string, version: PayloadVersion, cause: MeshCause]
  /** Gossip is about to remove a disconnected peer. The peer's counters are still complete. */
  leaving: [peer: string]
  /** Gossip has removed the peer. The peer's counters are final. */
  left: [peer: string]
  /** `points`: added to gossipsub's behaviour penalty. */
  offence: [peer: string, offence: string, points: number, detail?: string]
  /** Gossipsub penalised the peer; `label` is gossipsub's own name of the cause. */
  penalty: [peer: string, label: string]
  response: [peer: string, event: ResponseTerm, detail?: string]
  banned: [peer: string, ban: Ban]
  unbanned: [peer: string, cause: UnbanCause]
  /** The operator added a peer, an address or a subnet to a block list, or removed it. */
  blockListChanged: [change: 'block' | 'unblock', subject: BlockedSubject]
  traced: [event: GossipEvent, count: number]
}

/**
 * Event bus of the p2p node. Listeners run synchronously, in the order of subscription. A listener that throws stops
 * neither the other listeners nor the emitter.
 */
export interface P2pEvents {
  /** Returns a function that unsubscribes. */
  on<Name extends keyof P2pEventMap>(name: Name, listener: (...what: P2pEventMap[Name]) => void): () => void
  emit<Name extends keyof P2pEventMap>(name: Name, ...what: P2pEventMap[Name]): void
}

export function createP2pEvents({ logger }: { logger: Logger }): P2pEvents {
  const emitter = new EventEmitter<P2pEventMap>()
  emitter.setMaxListeners(0)
  return {
    on(name, listener) {
      const guarded = (...what: Parameters<typeof listener>): void => {
        try {
          listener(...what)
        } catch (err) {
          logger.error('An event listener failed', { event: name, err })
        }
      }
      emitter.on<keyof P2pEventMap>(name, guarded)
      return () => emitter.off<keyof P2pEventMap>(name, guarded)
    },
    emit: (name, ...what) => void emitter.emit<keyof P2pEventMap>(name, ...what),
  }
}
