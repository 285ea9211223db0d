import type { z } from 'zod'
import type { NodeHealth as HealthOfNode } from '../rollup/node/api.ts'
import type { healthEvent } from './schemas/health.ts'

/** The node's verdict on its health, as all clients receive it. */
export type NodeHealth = z.output<typeof healthEvent>

export function healthToJson({ state, sinceMs, text, causes, derivation, gossip }: HealthOfNode): NodeHealth {
  return {
    state,
    ok: state === 'healthy',
    sinceMs,
    text,
    causes: causes.map((cause) => ({
      code: cause.code,
      text: cause.text,
      sinceMs: cause.sinceMs ?? null,
      command: cause.command ?? null,
    })),
    derivation: partOf(derivation),
    gossip: gossip === undefined ? null : partOf(gossip),
  }
}

function partOf({ state, ok, text }: NodeHealth['derivation']): NodeHealth['derivation'] {
  return { state, ok, text }
}
