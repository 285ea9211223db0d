import type { Clock } from '../../lib/clock.ts'
import { describeError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'

export interface KeptAddresses {
  start(): void
  stop(): void
}

/** A fraction of the time after which the peer store takes an address for old. */
export const ROUND_MS = 6 * 60 * 60_000

/**
 * Keeps the addresses of connected peers from growing old, by asking each again who it is: they hold as long as the
 * connection does, as in go-libp2p (ConnectedAddrTTL). libp2p's peer store knows only when each was told.
 */
export function createKeptAddresses(modules: {
  clock: Clock
  logger: Logger
  connected(): string[]
  /** Asks a connected peer again who it is, and writes that down. */
  identify(peerId: string): Promise<unknown>
}): KeptAddresses {
  const { clock, logger } = modules
  let cancel: (() => void) | undefined
  const round = async (): Promise<void> => {
    schedule()
    const asking = modules
      .connected()
      .map((peer) =>
        modules
          .identify(peer)
          .catch((err: unknown) => logger.debug('Identify failed', { peer, err: describeError(err) })),
      )
    await Promise.all(asking)
    logger.debug('Asked connected peers again who they are', { peers: asking.length })
  }
  const schedule = (): void => {
    cancel = clock.setTimeout(() => void round(), ROUND_MS)
  }
  return { start: schedule, stop: () => cancel?.() }
}
