import { EventEmitter } from 'node:events'
import type { Connection } from '@libp2p/interface'
import type { Logger } from '../../lib/logger.ts'
import type { PayloadEnvelope } from '../../rollup/protocol/types.ts'
import type { Ban, ConnectionEnd, Listed, MeshCause, UnbanCause } from './records.ts'
import type { ResponseTerm } from './scoreTerms.ts'
import type { PayloadVersion } from './topics.ts'
import type { Verdict } from './verdict.ts'

/** op-node's names of what its pubsub tracer counts. */
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

/** What happens, and what is told of it. Peers are named by their ids. */
export interface P2pEventMap {
  /** The first connection of a peer stands. */
  connected: [peer: string, address: string, direction: 'inbound' | 'outbound']
  /** Its last connection is gone. */
  gone: [peer: string, end: ConnectionEnd]
  /** A connected peer has one more connection than those: they may be dead. */
  anotherConnection: [newest: Connection, others: readonly Connection[]]
  /** One of its connections is gone, others are left. */
  fewerConnections: [peer: string]
  /** A peer has come, and there is no place left. */
  full: []
  /** Of a static peer. */
  dialFailed: [peer: string, failure: { reason: string; text: string }]
  /** A gossip message was judged. */
  verdict: [peer: string, version: PayloadVersion, verdict: Verdict]
  /** A peer sent what was rejected already. */
  rejectedAgain: [peer: string, version: PayloadVersion, verdict: Verdict]
  /** A gossip message says who wrote it, which is forbidden. */
  author: [peer: string, version: PayloadVersion]
  /** A valid block of another node, new by the way that it came. */
  block: [envelope: PayloadEnvelope, peer: string, way: 'gossip' | 'request']
  /** A peer joined or left the mesh of a topic, by its own will or ours; or it was refused. */
  mesh: [change: 'graft' | 'prune', peer: string, version: PayloadVersion, cause: MeshCause]
  /** Gossip is about to forget a peer that has gone: its counters are still as they were. */
  leaving: [peer: string]
  /** They are settled now. */
  left: [peer: string]
  /** `points`: what it adds to what gossipsub counts as misbehaviour. */
  offence: [peer: string, offence: string, points: number, detail?: string]
  /** Gossipsub blames the peer, by its own name for that. */
  penalty: [peer: string, label: string]
  /** How a request for a block ended. */
  response: [peer: string, event: ResponseTerm, detail?: string]
  banned: [peer: string, ban: Ban]
  unbanned: [peer: string, cause: UnbanCause]
  ipUnbanned: [ip: string, cause: UnbanCause]
  /** The operator put a peer, an address or a subnet on a block list, or took it off. */
  listed: [change: 'block' | 'unblock', what: Listed]
  /** Something that op-node's tracer counts. */
  traced: [event: GossipEvent, count: number]
}

/**
 * Tells what happened to whoever wants to know: listeners are called at once, in the order in which they came. One that
 * throws keeps none of the others from it, and is no concern of whoever tells.
 */
export interface P2pEvents {
  /** Returns what takes the listener off again. */
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
          logger.error('A listener failed', { event: name, err })
        }
      }
      emitter.on<keyof P2pEventMap>(name, guarded)
      return () => emitter.off<keyof P2pEventMap>(name, guarded)
    },
    emit: (name, ...what) => void emitter.emit<keyof P2pEventMap>(name, ...what),
  }
}
