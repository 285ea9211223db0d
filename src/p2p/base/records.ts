/** `refused`: the peer sent a GRAFT, and this node answered with a PRUNE. */
export type MeshCause = 'by-us' | 'by-peer' | 'refused'

/** Refuses a peer until `expiryMs` (Unix milliseconds). */
export interface Ban {
  expiryMs: number
  reason: string
}

/** Which side ended a peer's last connection, and why if known. */
export interface ConnectionEnd {
  by: 'us' | 'peer'
  cause: string
}

export type UnbanCause = 'expired' | 'lifted'

export type BlockedSubject = { peerID: string } | { ip: string } | { subnet: string }
