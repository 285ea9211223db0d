import type { P2pApi } from '../p2p/base/api.ts'
import type { RollupNodeApi } from '../rollup/node/api.ts'

export interface HealthModules {
  node: Pick<RollupNodeApi, 'derivationStatus'>
  /** Absent with `--p2p.disable`. */
  p2p?: Pick<P2pApi, 'health'> | undefined
}

/** How one part of the node is, in one word and one sentence. */
export interface PartHealth {
  state: string
  ok: boolean
  text: string
}

export interface NodeHealth {
  /** Whether all parts are well. */
  ok: boolean
  derivation: PartHealth
  /** Null where the node has no peers by its flags. */
  gossip: PartHealth | null
}

/** How the node is, for those who want to know at a glance. */
export async function readHealth({ node, p2p }: HealthModules): Promise<NodeHealth> {
  const derivation = partOf(node.derivationStatus())
  const gossip = p2p === undefined ? null : partOf(await p2p.health())
  return { ok: derivation.ok && gossip?.ok !== false, derivation, gossip }
}

function partOf({ state, ok, text }: PartHealth): PartHealth {
  return { state, ok, text }
}
