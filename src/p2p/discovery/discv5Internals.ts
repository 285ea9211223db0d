/** The only access to private members of the discv5 library's session (11.0.0, session/service.js). */

/** The next packet to every node then begins with a handshake, which carries our record. */
export function forgetSessions(session: object): void {
  if (!('sessions' in session) || typeof session.sessions !== 'object' || session.sessions === null) return
  const { sessions } = session
  if ('clear' in sessions && typeof sessions.clear === 'function') sessions.clear()
}

export function hasOpenRequests(session: object): boolean {
  return 'activeRequests' in session && session.activeRequests instanceof Map && session.activeRequests.size > 0
}

/**
 * For a node known only by key and address, the record is requested first. The library (`handleMessage`, `awaitingEnr`) does
 * not close that request when its answer arrives. Later requests to the node then wait for the time-out, and fail with
 * it. For a bootnode without a record this costs one to two seconds, and the first lookup.
 */
export function releaseAnsweredRecordRequest(session: object, nodeId: string): void {
  if (!('activeRequests' in session) || !(session.activeRequests instanceof Map)) return
  for (const [key, call] of session.activeRequests) {
    if (typeof key === 'string' && key.startsWith(`${nodeId}:`) && isRecordRequest(call)) {
      session.activeRequests.delete(key)
    }
  }
}

/** FINDNODE with distance 0: a request for the node's own record. */
function isRecordRequest(call: unknown): boolean {
  if (typeof call !== 'object' || call === null || !('request' in call)) return false
  const { request } = call
  if (typeof request !== 'object' || request === null || !('distances' in request)) return false
  const { distances } = request
  return Array.isArray(distances) && distances.length === 1 && distances[0] === 0
}
