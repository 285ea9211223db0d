import type { GossipInternals } from './gossipInternals.ts'

/** Counts RPCs as op-node's pubsub tracer does. DROP_RPC: the peer's queue is full, or its stream is gone. */
export function countRpcs(
  target: Pick<GossipInternals, 'handleReceivedRpc' | 'sendRpc' | 'sendRpcInBatch'>,
  onEvent: (event: 'RECV_RPC' | 'SEND_RPC' | 'DROP_RPC', count: number) => void,
): void {
  const handleReceivedRpc = target.handleReceivedRpc.bind(target)
  target.handleReceivedRpc = (from, rpc) => {
    onEvent('RECV_RPC', 1)
    return handleReceivedRpc(from, rpc)
  }
  const sendRpc = target.sendRpc.bind(target)
  target.sendRpc = (peerId, rpc) => {
    const isSent = sendRpc(peerId, rpc)
    onEvent(isSent ? 'SEND_RPC' : 'DROP_RPC', 1)
    return isSent
  }
  const sendRpcInBatch = target.sendRpcInBatch.bind(target)
  target.sendRpcInBatch = (peers, rpc) => {
    const wanted = peers.size
    sendRpcInBatch(peers, rpc)
    onEvent('SEND_RPC', peers.size)
    if (peers.size < wanted) onEvent('DROP_RPC', wanted - peers.size)
  }
}
