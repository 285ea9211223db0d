/**
 * The attacks of `devium testnet hostile`: offences of an unauthenticated peer (src/p2p/OFFENCES.md), implemented in
 * src/p2p/hostile.
 */
export const HOSTILE_KINDS = [
  ...['garbage', 'bombs', 'bad-rpc', 'many-fields', 'oversized-rpc', 'author', 'unknown-topics', 'rpc-flood'],
  ...['grafts', 'graft-churn', 'ihaves', 'iwants', 'idontwants', 'subscriptions', 'single-bytes', 'gossip-streams'],
  ...['streams', 'yamux-pings', 'giant-frames', 'pings', 'requests', 'large-requests', 'slow-requests'],
  ...['slow-reader', 'churn', 'half-handshakes', 'many-half-handshakes'],
] as const
