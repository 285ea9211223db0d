import { z } from 'zod'
import { shortPeer } from '../../../lib/shortIds.ts'
import type { NodeClient } from '../../../rpc/client/index.ts'
import { ifServed } from '../nodeCommand.ts'

/** What a peer is called in a table or a sentence: its name, or the end of its id. IPs and subnets stay whole. */
export type NameOf = (subject: string) => string

const namesSchema = z.record(z.string(), z.string())

/** Names by peer id, as the node's operator has given them; none from a node that has no names. */
export async function askPeerNames(node: NodeClient): Promise<Record<string, string>> {
  return namesSchema.parse((await ifServed(node, 'deviump2p_names', [])) ?? {})
}

export function nameOfPeers(names: Readonly<Record<string, string>>): NameOf {
  return (subject) => names[subject] ?? shortPeer(subject)
}
