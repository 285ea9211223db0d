// The one short form of an id: commands, sentences, `devium watch`, the testnet's view and the page have it from here.

/** `0x1234…cdef`: enough of a hash to tell it from its neighbours. */
export function shortHash(hash: string): string {
  return hash.length > 14 ? `${hash.slice(0, 6)}…${hash.slice(-4)}` : hash
}

/** `…hN2fKq7w`: the end of a peer id, which is what differs; every command takes it. IPs and subnets stay whole. */
export function shortPeer(subject: string): string {
  return subject.length > 12 && !/[.:]/.test(subject) ? `…${subject.slice(-8)}` : subject
}
