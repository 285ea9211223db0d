import type { Hono } from 'hono'
import { type Clock, unixSeconds } from '../lib/clock.ts'
import type { RollupNodeApi } from '../rollup/node/api.ts'
import { healthToJson, type NodeHealth } from './nodeHealth.ts'

interface Readiness extends Pick<NodeHealth, 'state' | 'text' | 'causes'> {
  ready: boolean
  /** Sentences, one for each thing that is missing. */
  reasons: string[]
}

export interface ReadinessModules {
  node: Pick<RollupNodeApi, 'health' | 'syncStatus' | 'rollupConfig'>
  clock: Clock
}

/**
 * Whether a load balancer may send clients here. The node's verdict decides, but for two things: a head that moves may be
 * `maxBlocksBehind` blocks behind the clock, and what only others suffer from is no reason to take this node out.
 */
async function readReadiness({ node, clock }: ReadinessModules, maxBlocksBehind: number): Promise<Readiness> {
  const health = await node.health()
  const { timestamp, number } = node.syncStatus().unsafeL2
  const blocksBehind = Math.floor((unixSeconds(clock) - timestamp) / node.rollupConfig.blockTime)
  const hindering = health.causes.filter(({ hurtsOthersOnly, code }) => !hurtsOthersOnly && code !== 'catching-up')
  const reasons = hindering.map(({ text }) => text)
  // Zero while the engine syncs by itself, or a reset is under way.
  if (timestamp === 0) reasons.push('The node has no unsafe head yet.')
  else if (blocksBehind > maxBlocksBehind) {
    reasons.push(`The unsafe head ${number} is ${blocksBehind} blocks behind the clock, more than ${maxBlocksBehind}.`)
  }
  const { state, text, causes } = healthToJson(health)
  return { ready: reasons.length === 0, reasons, state, text, causes }
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
