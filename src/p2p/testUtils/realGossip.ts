import type { GossipSub } from '@chainsafe/libp2p-gossipsub'
import type { PeerId } from '@libp2p/interface'
import { type Multiaddr, multiaddr } from '@multiformats/multiaddr'
import { onTestFinished } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import { silentLogger } from '../../lib/logger.ts'
import { createP2pEvents } from '../base/events.ts'
import { DEFAULT_P2P_OPTIONS } from '../base/options.ts'
import { gossipInternals } from '../gossip/adapter.ts'
import type { Entrance, EntranceHandlers } from '../gossip/entrance.ts'
import { createGossipRouter, type GossipRouterModules, gossipService } from '../gossip/router.ts'
import { gossipScoring } from '../gossip/scoreParams.ts'
import { createHost } from '../host/host.ts'
import { identityFromRawKey } from '../host/identity.ts'
import { createPeerQuotas } from '../quotas/quotas.ts'
import { TOPIC } from './testChain.ts'

/** The library's entry point for a new peer. */
interface Entered {
  addPeer(peerId: PeerId, direction: 'inbound' | 'outbound', address: Multiaddr): void
}

/** Our router on the library's own gossipsub, in a host that is not started. The test supplies peers and streams. */
export async function realGossip(modules: Partial<GossipRouterModules> = {}) {
  const clock = new ManualClock(1_000)
  const events = createP2pEvents({ logger: silentLogger })
  const topics = {
    byVersion: new Map([[3, TOPIC]] as const),
    versionOf: (topic: string) => (topic === TOPIC ? 3 : undefined),
  } as const
  const options = DEFAULT_P2P_OPTIONS
  const scoring = gossipScoring(options, { blockTimeS: 2, appScore: () => 0, topics: topics.byVersion, version: 3 })
  const service = gossipService({ topics, scoring }, options.gossip)
  const host = await createHost(
    {
      identity: identityFromRawKey(new Uint8Array(32).fill(7)),
      gater: {},
      datastore: undefined,
      pubsub: service.create,
      muxerGuard: { clock, onAbuse: () => {} },
    },
    options,
  )
  onTestFinished(() => host.stop())
  const quotas = createPeerQuotas({
    clock,
    penalise: (peer, points, offence, detail) => events.emit('offence', peer, offence, points, detail),
  })
  const pubsub = host.services.pubsub as GossipSub & Entered
  let inbound: EntranceHandlers | undefined
  const forgotten: PeerId[] = []
  const entrance: Entrance = {
    ...service.entrance,
    forget(peerId) {
      forgotten.push(peerId)
      service.entrance.forget(peerId)
    },
    listen(handlers) {
      inbound = handlers
      service.entrance.listen(handlers)
    },
  }
  const router = createGossipRouter(
    pubsub,
    {
      ...{ clock, logger: silentLogger, events, topics, scoring, quotas, service: { ...service, entrance } },
      ids: { identify: () => Promise.reject(new Error('not asked here')) },
      validate: () => ({ result: 'ignore', reason: 'already-seen' }),
      isAlwaysServed: () => false,
      connectionsOf: () => [],
      protocolsOf: async () => [],
      onSlowReader: () => {},
      ...modules,
    },
    options.gossip,
  )
  return {
    ...{ clock, events, quotas, router, pubsub },
    gossip: gossipInternals(pubsub),
    /** As when libp2p reports a connection to the library. */
    addPeer: (peerId: PeerId): void => pubsub.addPeer(peerId, 'inbound', multiaddr('/ip4/1.2.3.4/tcp/1')),
    onStream: (...args: Parameters<EntranceHandlers['onStream']>): void => inbound?.onStream(...args),
    forget: entrance.forget,
    forgotten,
  }
}
