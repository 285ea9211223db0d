import type { Clock } from '../../lib/clock.ts'
import { describeError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'

/** A fraction of the peer store's expiry time of addresses. */
export const ROUND_MS = 6 * 60 * 60_000

/**
 * Repeats identify with connected peers, so that their addresses do not expire while the connection lasts, as in
 * go-libp2p (ConnectedAddrTTL). libp2p's peer store knows only the time when an address was received.
 */
export function createKeptAddresses(modules: {
  clock: Clock
  logger: Logger
  connected(): string[]
  /** Runs identify with a connected peer and stores the result. */
  identify(peerId: string): Promise<unknown>
}) {
  const { clock, logger } = modules
  let cancel: (() => void) | undefined
  const round = async (): Promise<void> => {
    schedule()
    const requests = modules
      .connected()
      .map((peer) =>
        modules
          .identify(peer)
          .catch((err: unknown) => logger.debug('Identify failed', { peer, err: describeError(err) })),
      )
    await Promise.all(requests)
    logger.debug('Repeated identify with connected peers', { peers: requests.length })
  }
  const schedule = (): void => {
    cancel = clock.setTimeout(() => void round(), ROUND_MS)
  }
  return { start: schedule, stop: (): void => cancel?.() }
}
