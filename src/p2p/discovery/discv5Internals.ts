/** Private members of the discv5 library's session (11.0.0, session/service.js), touched in this file only. */

/** Whatever is sent next to anyone begins with a handshake, which carries our record. */
export function forgetSessions(session: object): void {
  if (!('sessions' in session) || typeof session.sessions !== 'object' || session.sessions === null) return
  const { sessions } = session
  if ('clear' in sessions && typeof sessions.clear === 'function') sessions.clear()
}

/** Whether an answer to something that we asked is still to come. */
export function hasOpenRequests(session: object): boolean {
  return 'activeRequests' in session && session.activeRequests instanceof Map && session.activeRequests.size > 0
}

/**
 * A node that is known by its key and address alone is asked for its record first. The library (`handleMessage`,
 * `awaitingEnr`) leaves that request among the open ones when it has been answered: whatever else is asked of the node
 * waits until it times out, and then fails with it. For a bootnode without a record that is one to two seconds, and the
 * first lookup.
 */
export function releaseAnsweredRecordRequest(session: object, nodeId: string): void {
  if (!('activeRequests' in session) || !(session.activeRequests instanceof Map)) return
  for (const [key, call] of session.activeRequests) {
    if (typeof key === 'string' && key.startsWith(`${nodeId}:`) && isRecordRequest(call)) {
      session.activeRequests.delete(key)
    }
  }
}

/** FINDNODE at distance 0, to a node without a record. */
function isRecordRequest(call: unknown): boolean {
  if (typeof call !== 'object' || call === null || !('request' in call)) return false
  const { request } = call
  if (typeof request !== 'object' || request === null || !('distances' in request)) return false
  const { distances } = request
  return Array.isArray(distances) && distances.length === 1 && distances[0] === 0
}
