import { z } from 'zod'
import { shortPeer } from '../../../lib/shortIds.ts'
import type { NodeClient } from '../../../rpc/client/index.ts'
import { ifServed } from '../nodeCommand.ts'

/** The name of a peer in a table or a sentence: the operator's name, or the end of its id. IPs and subnets stay whole. */
export type NameOf = (subject: string) => string

const namesSchema = z.record(z.string(), z.string())

/** The operator's names by peer id. Empty if the node has no names. */
export async function requestPeerNames(node: NodeClient): Promise<Record<string, string>> {
  return namesSchema.parse((await ifServed(node, 'deviump2p_names', [])) ?? {})
}

export function nameOfPeers(names: Readonly<Record<string, string>>): NameOf {
  return (subject) => names[subject] ?? shortPeer(subject)
}
