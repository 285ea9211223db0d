import type { PeerId } from '@libp2p/interface'

export interface IdentifyingHost {
  addEventListener(type: 'peer:identify', listener: (event: CustomEvent<{ peerId: PeerId }>) => void): void
  removeEventListener(type: 'peer:identify', listener: (event: CustomEvent<{ peerId: PeerId }>) => void): void
}

/** Resolves when identify of the peer succeeds, or when the signal aborts. */
export async function identified(host: IdentifyingHost, id: PeerId, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  const { promise, resolve } = Promise.withResolvers<void>()
  const onIdentify = ({ detail }: CustomEvent<{ peerId: PeerId }>): void => {
    if (detail.peerId.equals(id)) resolve()
  }
  const onAbort = (): void => resolve()
  host.addEventListener('peer:identify', onIdentify)
  signal.addEventListener('abort', onAbort)
  try {
    await promise
  } finally {
    host.removeEventListener('peer:identify', onIdentify)
    signal.removeEventListener('abort', onAbort)
  }
}
