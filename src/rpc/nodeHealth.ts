import type { NodeHealth as HealthOfNode, RollupNodeApi } from '../rollup/node/api.ts'

export interface HealthModules {
  node: Pick<RollupNodeApi, 'health'>
}

/** State of one part of the node, in one word and one sentence. */
export interface PartHealth {
  state: string
  ok: boolean
  text: string
}

/** A cause of degraded health. Times are Unix milliseconds. */
export interface HealthCause {
  code: string
  text: string
  sinceMs: number | null
  /** The command that ends the cause or explains it. */
  command: string | null
}

/** The node's verdict on its health, as all clients receive it. */
export interface NodeHealth {
  state: HealthOfNode['state']
  /** True: the state is `healthy`. */
  ok: boolean
  sinceMs: number
  text: string
  causes: HealthCause[]
  derivation: PartHealth
  /** Null if the node runs without peers. */
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
