import { type GossipsubOpts, StrictNoSign } from '@chainsafe/libp2p-gossipsub'
import type { P2pOptions } from '../base/options.ts'
import {
  GOSSIP_PARAMS,
  MAX_INBOUND_GOSSIP_STREAMS,
  MAX_OUTBOUND_BUFFER_BYTES,
  MAX_TOPIC_BYTES_PER_PEER,
} from './params.ts'
import type { GossipScoring } from './scoreParams.ts'

/** op-node's parameters under the library's names. Messages have no author, sequence number or signature. */
export function gossipsubOptions(
  { topics, scoring, idontwantMinBytes }: { topics: string[]; scoring: GossipScoring; idontwantMinBytes: number },
  options: P2pOptions['gossip'],
) {
  return {
    globalSignaturePolicy: StrictNoSign,
    fallbackToFloodsub: true,
    emitSelf: false,
    doPX: false,
    floodPublish: options.floodPublish,
    allowPublishToZeroTopicPeers: true,
    allowedTopics: topics,
    maxTopicBytesPerPeer: MAX_TOPIC_BYTES_PER_PEER,
    maxInboundStreams: MAX_INBOUND_GOSSIP_STREAMS,
    maxOutboundBufferSize: MAX_OUTBOUND_BUFFER_BYTES,
    // The connection trimmer itself knows which peers to keep. Tags would be database writes.
    tagMeshPeers: false,
    D: options.meshD,
    Dlo: options.meshLow,
    Dhi: options.meshHigh,
    Dlazy: options.meshLazy,
    ...GOSSIP_PARAMS,
    idontwantMinDataSize: idontwantMinBytes,
    scoreParams: scoring.params,
    scoreThresholds: scoring.thresholds,
  } satisfies Partial<GossipsubOpts>
}
