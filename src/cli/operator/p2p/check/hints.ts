/** For a connection that the peer closes without a reason. */
export const CLOSED_HINT = 'it has blocked or banned our address, or it accepts no more peers'

/** The hint after the peer has learned our identity. */
export function closedHint(isOwnKey: boolean): string {
  if (isOwnKey) return 'it has blocked or banned this peer id or our address, or it accepts no more peers'
  return `${CLOSED_HINT} (this check has a new peer id; --identity shows a ban of your node's peer id)`
}

/** For a peer that accepts this check, but perhaps not our own node. */
export const APART_HINT =
  'if your node cannot connect to it, it may have blocked or banned the peer id of your node: check with --identity'

/** For a port that does not speak noise. */
export const NO_NOISE_HINT =
  'it may be the port of another service. OP Stack nodes use noise (--p2p.security) on --p2p.listen.tcp, 9222 by default'
