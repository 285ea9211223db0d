/** A signature (65 bytes) and one byte. A shorter message is rejected. */
export const MIN_MESSAGE_BYTES = 66

/**
 * op-node's values (its gossip.go) under the library's names; times in milliseconds. Missing values have go-libp2p's
 * default in both libraries: heartbeat's initial delay 100 ms, Dscore 4, Dout 2, gossip factor 0.25, retransmission 3,
 * 5000 ids in at most 10 IHAVE a heartbeat.
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
/** Compressed bytes from which on op-node sends IDONTWANT. */
export const IDONTWANT_MIN_BYTES = 1024

/** A slow peer may leave this much unread before its stream is closed: space for one large block and more. */
export const MAX_OUTBOUND_BUFFER_BYTES = 16 * 1024 * 1024
/** Inbound gossip streams of one protocol per peer. A new stream replaces the one before. */
export const MAX_INBOUND_GOSSIP_STREAMS = 4
/** Four topics at the library's 1 KiB each need less. */
export const MAX_TOPIC_BYTES_PER_PEER = 16 * 1024

/** Control messages of one kind: an honest peer sends one for each of the four topics. */
const MAX_CONTROL_MESSAGES = 64
/**
 * Limits of one RPC. Ids: gossipsub's limits (5000 an IHAVE, op-node's 1000 IDONTWANT). Messages: many times the answer
 * to an IWANT of the whole mcache. An RPC above a limit is dropped and its sender penalised.
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
