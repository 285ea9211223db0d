import type { ConnectionEnd, Listed, MeshCause, UnbanCause } from './records.ts'
import type { PayloadVersion } from './topics.ts'

/** What happens to peers, as plain data for whoever watches. `version` is the payload version of the topic concerned. */
export type P2pNews =
  | { event: 'connected'; peerID: string; address: string; direction: 'inbound' | 'outbound' }
  /** `by` and `cause`: who ended the last connection, and why as far as is known. */
  | ({ event: 'disconnected'; peerID: string } & ConnectionEnd)
  /** The peer joined or left the mesh, or was refused. */
  | { event: 'graft' | 'prune'; peerID: string; version: PayloadVersion; cause: MeshCause }
  | { event: 'ban'; peerID: string; reason: string; untilMs: number }
  | ({ event: 'unban'; cause: UnbanCause } & ({ peerID: string } | { ip: string }))
  /** On the operator's lists, or off them. */
  | ({ event: 'block' | 'unblock' } & Listed)
