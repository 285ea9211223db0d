import type { Around, GossipInternals } from './adapter.ts'

/**
 * Counts outgoing RPCs as op-node's pubsub tracer does. DROP_RPC: the peer's queue is full, or its stream has closed.
 */
export function countSentRpcs(onEvent: (event: 'SEND_RPC' | 'DROP_RPC') => void): Around<GossipInternals, 'sendRpc'> {
  return (sendRpc) => (peerId, rpc) => {
    const isSent = sendRpc(peerId, rpc)
    onEvent(isSent ? 'SEND_RPC' : 'DROP_RPC')
    return isSent
  }
}
