import type { BlockedSubject, ConnectionEnd, MeshCause, UnbanCause } from './records.ts'
import type { PayloadVersion } from './topics.ts'

/**
 * Events of peers as plain data, for subscribers outside this room. `version` is the payload version of the topic
 * concerned.
 */
export type P2pNotification =
  | { event: 'connected'; peerID: string; address: string; direction: 'inbound' | 'outbound' }
  /** `by` and `cause`: which side ended the last connection, and why if known. */
  | ({ event: 'disconnected'; peerID: string } & ConnectionEnd)
  /** The peer joined or left the mesh, or was refused. */
  | { event: 'graft' | 'prune'; peerID: string; version: PayloadVersion; cause: MeshCause }
  | { event: 'ban'; peerID: string; reason: string; untilMs: number }
  | { event: 'unban'; peerID: string; cause: UnbanCause }
  /** The operator added an entry to a block list, or removed one. */
  | ({ event: 'block' | 'unblock' } & BlockedSubject)
