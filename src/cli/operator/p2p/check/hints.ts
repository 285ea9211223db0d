/** Of a connection that the other side ends for no reason that it tells. */
export const CLOSED_HINT = 'it has blocked or banned our address, or has no place for more peers'

/** The same once it knows who we are. */
export function closedHint(isOwnKey: boolean): string {
  if (isOwnKey) return 'it has blocked or banned this peer id or our address, or has no place for more peers'
  return `${CLOSED_HINT} (not your node's peer id: this check has a new one, see --identity)`
}

/** Of a peer that takes this check, and perhaps not our own node. */
export const APART_HINT =
  'if your node does not get through to it: it may have blocked or banned that peer id, which --identity shows'

/** Of a port at which nobody speaks noise. */
export const NO_NOISE_HINT =
  'the port of another service? Nodes of the OP Stack speak noise (--p2p.security) on --p2p.listen.tcp, 9222 by default'
