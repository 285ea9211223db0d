import type { Peer, PeerId } from '@libp2p/interface'

/** What is needed of a host. */
export interface IdentifyingHost {
  peerStore: { get(id: PeerId): Promise<Pick<Peer, 'protocols'>> }
  addEventListener(type: 'peer:identify', listener: (event: CustomEvent<{ peerId: PeerId }>) => void): void
  removeEventListener(type: 'peer:identify', listener: (event: CustomEvent<{ peerId: PeerId }>) => void): void
}

/** Resolves when the peer has told who it is, now or earlier, or when the signal aborts. */
export async function identified(host: IdentifyingHost, id: PeerId, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const onIdentify = ({ detail }: CustomEvent<{ peerId: PeerId }>): void => {
    if (detail.peerId.equals(id)) resolve()
  }
  const onAbort = (): void => resolve()
  // Before the store is asked: it may be told in between.
  host.addEventListener('peer:identify', onIdentify)
  signal.addEventListener('abort', onAbort)
  try {
    const known = await host.peerStore.get(id).catch(() => undefined)
    if (known === undefined || known.protocols.length === 0) await promise
  } finally {
    host.removeEventListener('peer:identify', onIdentify)
    signal.removeEventListener('abort', onAbort)
  }
}
