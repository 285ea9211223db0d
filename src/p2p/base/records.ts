/** `refused`: the peer wanted in and was not let. */
export type MeshCause = 'by-us' | 'by-peer' | 'refused'

/** When and why a peer or an IP may not connect, until `expiryMs` (Unix milliseconds). */
export interface Ban {
  expiryMs: number
  reason: string
}

/** Who ended a peer's last connection, and why as far as is known. */
export interface ConnectionEnd {
  by: 'us' | 'peer'
  cause: string
}

export type UnbanCause = 'expired' | 'lifted'

/** What a block list names. */
export type Listed = { peerID: string } | { ip: string } | { subnet: string }
