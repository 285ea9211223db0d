import type { Around, GossipInternals } from './adapter.ts'

/** Counts RPCs that go out as op-node's pubsub tracer does. DROP_RPC: the peer's queue is full, or its stream is gone. */
export function countSentRpcs(onEvent: (event: 'SEND_RPC' | 'DROP_RPC') => void): Around<GossipInternals, 'sendRpc'> {
  return (sendRpc) => (peerId, rpc) => {
    const isSent = sendRpc(peerId, rpc)
    onEvent(isSent ? 'SEND_RPC' : 'DROP_RPC')
    return isSent
  }
}
