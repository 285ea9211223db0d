import { onTestFinished } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import { silentLogger } from '../../lib/logger.ts'
import { createP2pEvents } from '../base/events.ts'
import { DEFAULT_P2P_OPTIONS } from '../base/options.ts'
import { gossipInternals } from '../gossip/adapter.ts'
import { createGossipRouter, type GossipRouterModules, gossipService } from '../gossip/router.ts'
import { gossipScoring } from '../gossip/scoreParams.ts'
import { createHost } from '../host/host.ts'
import { identityFromRawKey } from '../host/identity.ts'
import { createPeerQuotas } from '../quotas/quotas.ts'
import { TOPIC } from './testChain.ts'

/** Our router on the library's own gossipsub, in a host that is not started: peers and streams are the test's. */
export async function realGossip(
  modules: Pick<GossipRouterModules, 'ids' | 'validate'> & Partial<GossipRouterModules>,
) {
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
  const { pubsub } = host.services
  const router = createGossipRouter(
    pubsub,
    {
      ...{ clock, logger: silentLogger, events, service, topics, scoring, quotas },
      isAlwaysServed: () => false,
      connectionsOf: () => [],
      protocolsOf: async () => [],
      onSlowReader: () => {},
      ...modules,
    },
    options.gossip,
  )
  return { clock, events, quotas, router, pubsub, gossip: gossipInternals(pubsub) }
}
