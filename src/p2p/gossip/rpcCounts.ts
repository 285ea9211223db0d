import type { Around, GossipInternals } from './adapter.ts'

/** Counts RPCs that go out as op-node's pubsub tracer does. DROP_RPC: the peer's queue is full, or its stream is gone. */
export function countSentRpcs(onEvent: (event: 'SEND_RPC' | 'DROP_RPC', count: number) => void): {
  sendRpc: Around<GossipInternals, 'sendRpc'>
  sendRpcInBatch: Around<GossipInternals, 'sendRpcInBatch'>
} {
  return {
    sendRpc: (sendRpc) => (peerId, rpc) => {
      const isSent = sendRpc(peerId, rpc)
      onEvent(isSent ? 'SEND_RPC' : 'DROP_RPC', 1)
      return isSent
    },
    sendRpcInBatch: (sendRpcInBatch) => (peers, rpc) => {
      const wanted = peers.size
      sendRpcInBatch(peers, rpc)
      onEvent('SEND_RPC', peers.size)
      if (peers.size < wanted) onEvent('DROP_RPC', wanted - peers.size)
    },
  }
}
