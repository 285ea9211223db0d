import type { NodeHealth as HealthOfNode, RollupNodeApi } from '../rollup/node/api.ts'

export interface HealthModules {
  node: Pick<RollupNodeApi, 'health'>
}

/** How one part of the node is, in one word and one sentence. */
export interface PartHealth {
  state: string
  ok: boolean
  text: string
}

/** Why the node is not healthy; moments are Unix milliseconds. */
export interface HealthCause {
  code: string
  text: string
  sinceMs: number | null
  /** What ends it, or tells more. */
  command: string | null
}

/** The node's verdict on itself, as every client is told it. */
export interface NodeHealth {
  state: HealthOfNode['state']
  /** Whether it is healthy. */
  ok: boolean
  sinceMs: number
  text: string
  causes: HealthCause[]
  derivation: PartHealth
  /** Null where the node has no peers by its flags. */
  gossip: PartHealth | null
}

export async function readHealth({ node }: HealthModules): Promise<NodeHealth> {
  return healthToJson(await node.health())
}

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

function partOf({ state, ok, text }: PartHealth): PartHealth {
  return { state, ok, text }
}
