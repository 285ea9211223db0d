// The short forms of ids in commands, sentences, `devium watch`, the testnet's view and the dashboard.

/** `0x1234…cdef`. */
export function shortHash(hash: string): string {
  return hash.length > 14 ? `${hash.slice(0, 6)}…${hash.slice(-4)}` : hash
}

/**
 * `…hN2fKq7w`: the end of a peer id, which is the part that differs. Every command accepts it. IPs and subnets are not
 * shortened.
 */
export function shortPeer(subject: string): string {
  return subject.length > 12 && !/[.:]/.test(subject) ? `…${subject.slice(-8)}` : subject
}
