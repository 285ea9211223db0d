import type { Logger } from '../lib/logger.ts'
import type { P2pEvents } from './base/events.ts'

export function logEvents(events: Pick<P2pEvents, 'on'>, { logger }: { logger: Logger }): void {
  events.on('connected', (peer, addr) => logger.debug('Connected to peer', { peer, addr }))
  events.on('disconnected', (peer) => logger.debug('Disconnected from peer', { peer }))
  events.on('offence', (peer, offence, points, detail) =>
    logger.debug('Peer misbehaved', { peer, offence, detail, points }),
  )
  events.on('block', ({ payload: { blockNumber: number, blockHash: hash } }, peer, way) => {
    if (way === 'gossip') logger.debug('Received signed execution payload from p2p', { number, hash, peer })
  })
}
