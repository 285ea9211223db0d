import type { WatchedPeer } from '../operator/watch/watchState.ts'

export function watchedPeer(changes: Partial<WatchedPeer> = {}): WatchedPeer {
  return {
    id: '16Uiu2HAm5UcGBcvZtAYgnANxy7LGgmsAaC3HoKN8tcuH6Hyr2Er8',
    isConnected: true,
    direction: 'inbound',
    score: 1,
    mainReason: 'time in the mesh',
    isInMesh: true,
    latencyMs: 1.25,
    isStatic: false,
    isProtected: false,
    isBlocked: false,
    ban: undefined,
    address: '/ip4/1.2.3.4/tcp/9222',
    agent: 'optimism',
    ...changes,
  }
}
