import type { Hono } from 'hono'
import { type Clock, unixSeconds } from '../lib/clock.ts'
import type { RollupNodeApi } from '../rollup/node/api.ts'
import { healthToJson, type NodeHealth } from './nodeHealth.ts'

interface Readiness extends Pick<NodeHealth, 'state' | 'text' | 'causes'> {
  ready: boolean
  /** One sentence for each reason not to be ready. */
  reasons: string[]
}

export interface ReadinessModules {
  node: Pick<RollupNodeApi, 'health' | 'syncStatus' | 'rollupConfig'>
  clock: Clock
}

/**
 * Whether a load balancer may send clients here. The node's verdict decides, with two exceptions. A moving head may be
 * `maxBlocksBehind` blocks behind the clock. Causes that affect only other nodes do not count.
 */
async function readReadiness({ node, clock }: ReadinessModules, maxBlocksBehind: number): Promise<Readiness> {
  const health = await node.health()
  const { timestamp, number } = node.syncStatus().unsafeL2
  const blocksBehind = Math.floor((unixSeconds(clock) - timestamp) / node.rollupConfig.blockTime)
  const hindering = health.causes.filter(({ hurtsOthersOnly, code }) => !hurtsOthersOnly && code !== 'catching-up')
  const reasons = hindering.map(({ text }) => text)
  // The timestamp is zero while the engine syncs by itself, or during a reset.
  if (timestamp === 0) reasons.push('The node has no unsafe head yet.')
  else if (blocksBehind > maxBlocksBehind) {
    reasons.push(`The unsafe head ${number} is ${blocksBehind} blocks behind the clock, more than ${maxBlocksBehind}.`)
  }
  const { state, text, causes } = healthToJson(health)
  return { ready: reasons.length === 0, reasons, state, text, causes }
}

/** `GET /readyz`: status 200 or 503, with the reasons. */
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
