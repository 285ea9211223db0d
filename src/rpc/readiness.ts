import type { Hono } from 'hono'
import { type Clock, unixSeconds } from '../lib/clock.ts'
import type { RollupNodeApi } from '../rollup/node/api.ts'
import { type HealthModules, readHealth } from './nodeHealth.ts'

interface Readiness {
  ready: boolean
  /** Sentences, one for each thing that is missing. */
  reasons: string[]
}

export interface ReadinessModules extends HealthModules {
  node: Pick<RollupNodeApi, 'derivationStatus' | 'syncStatus' | 'rollupConfig'>
  clock: Clock
}

/**
 * Whether a load balancer may send clients here: the unsafe head is at most `maxBlocksBehind` blocks older than the clock has it,
 * and derivation and gossip are well.
 */
async function readReadiness(modules: ReadinessModules, maxBlocksBehind: number): Promise<Readiness> {
  const { node, clock } = modules
  const { timestamp, number } = node.syncStatus().unsafeL2
  const blocksBehind = Math.floor((unixSeconds(clock) - timestamp) / node.rollupConfig.blockTime)
  const reasons: string[] = []
  // Zero while the engine syncs by itself, or a reset is under way.
  if (timestamp === 0) reasons.push('The node has no unsafe head yet.')
  else if (blocksBehind > maxBlocksBehind) {
    reasons.push(`The unsafe head ${number} is ${blocksBehind} blocks behind the clock, more than ${maxBlocksBehind}.`)
  }
  const { derivation, gossip } = await readHealth(modules)
  for (const part of [derivation, gossip]) if (part?.ok === false) reasons.push(part.text)
  return { ready: reasons.length === 0, reasons }
}

/** `GET /readyz`: 200 or 503, and why. */
export function addReadyPath(
  routes: Pick<Hono, 'get'>,
  modules: ReadinessModules,
  { maxBlocksBehind }: { maxBlocksBehind: number },
): void {
  routes.get('/readyz', async (context) => {
    const readiness = await readReadiness(modules, maxBlocksBehind)
    return context.json(readiness, readiness.ready ? 200 : 503)
  })
}
