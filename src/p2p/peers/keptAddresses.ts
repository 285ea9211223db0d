import type { Peer, PeerId } from '@libp2p/interface'
import type { Clock } from '../../lib/clock.ts'
import { describeError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'
import { parsePeerId } from '../host/multiaddrs.ts'

export interface KeptAddresses {
  start(): void
  stop(): void
}

/** A fraction of the time after which the peer store takes an address for old. */
export const ROUND_MS = 6 * 60 * 60_000
export const LOOK_MS = 60_000
/** More than a process is ever kept waiting, and less than makes an address old. */
const LEAP_MS = 60 * 60_000

/**
 * Keeps the addresses of connected peers from growing old: they hold as long as the connection does, as in go-libp2p
 * (ConnectedAddrTTL). libp2p's peer store knows only when each was told. When the machine's clock is set forward by a day
 * it drops them, with all else that it knows of the peer: so connected peers are asked again who they are.
 */
export function createKeptAddresses(modules: {
  clock: Clock
  logger: Logger
  connected(): string[]
  /** Asks a connected peer again who it is, and writes that down. */
  identify(peerId: string): Promise<unknown>
  peerStore: {
    get(id: PeerId): Promise<Pick<Peer, 'addresses'>>
    merge(id: PeerId, data: Pick<Peer, 'addresses'>): Promise<unknown>
  }
}): KeptAddresses {
  const { clock, logger, peerStore } = modules
  const timers = new Map<() => void, () => void>()
  let lookedAtMs = 0

  const after = (delayMs: number, run: () => void): void => {
    timers.set(run, clock.setTimeout(run, delayMs))
  }
  const forAll = async (what: string, run: (peerId: string) => Promise<unknown>): Promise<void> => {
    const peers = modules.connected()
    await Promise.all(
      peers.map((peer) =>
        run(peer).catch((error: unknown) => logger.debug(`${what} failed`, { peer, err: describeError(error) })),
      ),
    )
    logger.debug(what, { peers: peers.length })
  }
  const renew = async (peerId: string): Promise<void> => {
    const id = parsePeerId(peerId)
    const { addresses } = await peerStore.get(id)
    await peerStore.merge(id, { addresses })
  }
  const round = (): void => {
    after(ROUND_MS, round)
    void forAll('Keeping addresses of connected peers', renew)
  }
  const look = (): void => {
    after(LOOK_MS, look)
    const passedMs = clock.now() - lookedAtMs
    lookedAtMs += passedMs
    if (passedMs > LEAP_MS) void forAll('Asking connected peers again who they are', modules.identify)
  }
  return {
    start() {
      lookedAtMs = clock.now()
      after(ROUND_MS, round)
      after(LOOK_MS, look)
    },
    stop() {
      for (const cancel of timers.values()) cancel()
    },
  }
}
