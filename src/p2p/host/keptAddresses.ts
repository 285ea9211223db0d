import type { Peer, PeerId } from '@libp2p/interface'
import type { Clock } from '../../lib/clock.ts'
import { describeError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'
import { parsePeerId } from './multiaddrs.ts'

export interface KeptAddresses {
  start(): void
  stop(): void
}

/** A fraction of the time after which the peer store takes an address for old. */
export const ROUND_MS = 6 * 60 * 60_000

/**
 * Keeps the addresses of connected peers from growing old: they hold as long as the connection does, as in go-libp2p
 * (ConnectedAddrTTL). libp2p's peer store knows only when each was told.
 */
export function createKeptAddresses(modules: {
  clock: Clock
  logger: Logger
  connected(): string[]
  peerStore: {
    get(id: PeerId): Promise<Pick<Peer, 'addresses'>>
    merge(id: PeerId, data: Pick<Peer, 'addresses'>): Promise<unknown>
  }
}): KeptAddresses {
  const { clock, logger, peerStore } = modules
  let cancel: (() => void) | undefined

  const renew = async (peerId: string): Promise<void> => {
    const id = parsePeerId(peerId)
    try {
      const { addresses } = await peerStore.get(id)
      await peerStore.merge(id, { addresses })
    } catch (error) {
      logger.debug('Keeping the addresses of a peer failed', { peer: peerId, err: describeError(error) })
    }
  }
  const renewAll = async (): Promise<void> => {
    const peers = modules.connected()
    await Promise.all(peers.map(renew))
    logger.debug('Kept addresses of connected peers', { peers: peers.length })
  }
  const round = (): void => {
    void renewAll()
    cancel = clock.setTimeout(round, ROUND_MS)
  }
  return {
    start() {
      cancel = clock.setTimeout(round, ROUND_MS)
    },
    stop: () => cancel?.(),
  }
}
