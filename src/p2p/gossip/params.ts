import { MAX_CONTROL_MESSAGES } from './rpcShape.ts'

/** A signature and one byte: nothing shorter is looked at. */
export const MIN_MESSAGE_BYTES = 66

/**
 * As op-node sets them (its gossip.go), by the library's names, times in milliseconds. What is not named has go-libp2p's
 * default in both libraries: heartbeat's initial delay 100 ms, Dscore 4, Dout 2, gossip factor 0.25, retransmission 3, 5000
 * ids in at most 10 IHAVE a heartbeat.
 */
export const GOSSIP_PARAMS = {
  heartbeatInterval: 500,
  fanoutTTL: 24_000,
  mcacheLength: 12,
  mcacheGossip: 3,
  /** 130 heartbeats. */
  seenTTL: 65_000,
  prunePeers: 16,
  pruneBackoff: 60_000,
  unsubcribeBackoff: 10_000,
  directConnectTicks: 300,
  opportunisticGraftTicks: 60,
  opportunisticGraftPeers: 2,
  graftFloodThreshold: 10_000,
  gossipsubIWantFollowupMs: 3_000,
  idontwantMaxMessages: 1000,
} as const
/** Compressed bytes from which on op-node says that it does not want a message again. */
export const IDONTWANT_MIN_BYTES = 1024

/** A peer that reads slowly may leave this much unsent before its stream is closed: room for one large block and more. */
export const MAX_OUTBOUND_BUFFER_BYTES = 16 * 1024 * 1024
/** Gossip streams of one protocol that a peer may have open towards us: a new one replaces the one before. */
export const MAX_INBOUND_GOSSIP_STREAMS = 4
/** Room for four topics at the library's 1 KiB each, with some to spare. */
export const MAX_TOPIC_BYTES_PER_PEER = 16 * 1024

/**
 * Members of one RPC. Ids as gossipsub counts them (5000 an IHAVE, op-node's 1000 IDONTWANT); messages as a peer may
 * send on one IWANT of everything that mcache holds, many times over. An RPC beyond is dropped, and its sender blamed.
 */
export const RPC_LIMITS = {
  subscriptions: 128,
  messages: 1_000,
  control: {
    ihave: MAX_CONTROL_MESSAGES,
    ihave$: { messageIDs: 5_000 },
    iwant: MAX_CONTROL_MESSAGES,
    iwant$: { messageIDs: 5_000 },
    graft: MAX_CONTROL_MESSAGES,
    prune: MAX_CONTROL_MESSAGES,
    prune$: { peers: 16 },
    idontwant: MAX_CONTROL_MESSAGES,
    idontwant$: { messageIDs: 1_000 },
  },
}
