/** The attacks of `devium testnet hostile`: what a stranger can do (src/p2p/OFFENCES.md), and src/p2p/hostile does. */
export const HOSTILE_KINDS = [
  ...['garbage', 'bombs', 'bad-rpc', 'many-fields', 'oversized-rpc', 'author', 'unknown-topics', 'rpc-flood'],
  ...['grafts', 'graft-churn', 'ihaves', 'iwants', 'idontwants', 'subscriptions', 'single-bytes', 'gossip-streams'],
  ...['streams', 'yamux-pings', 'giant-frames', 'pings', 'requests', 'large-requests', 'slow-requests'],
  ...['slow-reader', 'churn', 'half-handshakes', 'many-half-handshakes'],
] as const
