/** For a connection that the peer closes without a reason. */
export const CLOSED_HINT = 'it has blocked or banned our address, or has no place for more peers'

/** The hint after the peer has learned our identity. */
export function closedHint(isOwnKey: boolean): string {
  if (isOwnKey) return 'it has blocked or banned this peer id or our address, or has no place for more peers'
  return `${CLOSED_HINT} (not your node's peer id: this check has a new one, see --identity)`
}

/** For a peer that accepts this check, but perhaps not our own node. */
export const APART_HINT =
  'if your node does not get through to it: it may have blocked or banned that peer id, which --identity shows'

/** For a port that does not speak noise. */
export const NO_NOISE_HINT =
  'the port of another service? Nodes of the OP Stack speak noise (--p2p.security) on --p2p.listen.tcp, 9222 by default'
