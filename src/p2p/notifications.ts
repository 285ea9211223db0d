import type { P2pEvents } from './base/events.ts'
import type { P2pNotification } from './base/notifications.ts'

/** Calls the listener on each event of a peer, until the returned function is called. */
export function forwardNotifications(
  events: Pick<P2pEvents, 'on'>,
  listener: (notification: P2pNotification) => void,
): () => void {
  const ends = [
    events.on('connected', (peerID, address, direction) =>
      listener({ event: 'connected', peerID, address, direction }),
    ),
    events.on('disconnected', (peerID, { by, cause }) => listener({ event: 'disconnected', peerID, by, cause })),
    events.on('mesh', (event, peerID, version, cause) => listener({ event, peerID, version, cause })),
    events.on('banned', (peerID, { reason, expiryMs }) =>
      listener({ event: 'ban', peerID, reason, untilMs: expiryMs }),
    ),
    events.on('unbanned', (peerID, cause) => listener({ event: 'unban', peerID, cause })),
    events.on('blockListChanged', (event, what) => listener({ event, ...what })),
  ]
  return () => {
    for (const end of ends) end()
  }
}
