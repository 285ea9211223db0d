import { z } from 'zod'
import { RpcTransportError } from '../../../../jsonRpc/client.ts'
import { UsageError } from '../../../../lib/errors.ts'
import type { NodeClient } from '../../../../rpc/client/index.ts'
import { resolvePeer } from '../resolvePeer.ts'

const dumpSchema = z.object({
  peers: z.record(z.string(), z.object({ ENR: z.string(), addresses: z.array(z.string()) })),
})

/** A peer id, or a part of it as tables show it. No multiaddress and no record matches. */
const PEER = /^(…|\.\.\.)?[1-9A-HJ-NP-Za-km-z]{3,}(…|\.\.\.)?$/

/**
 * The address to check for a peer's name or id: its record, or an address that the node knows. Undefined when the text is
 * something else, or no node answers. Throws UsageError when the node does not know the peer.
 */
export async function addressOfPeer(node: NodeClient, text: string): Promise<string | undefined> {
  if (!PEER.test(text)) return undefined
  try {
    const peerId = await resolvePeer(node, text)
    const { peers } = dumpSchema.parse(await node.request('deviump2p_peers', [false]))
    const { ENR, addresses } = peers[peerId] ?? { ENR: '', addresses: [] }
    // A node that listens on all interfaces also announces its loopback address, which cannot be dialled from here.
    const address = addresses.find((known) => !/^\/ip(4\/127\.|6\/::1\/)/.test(known)) ?? addresses[0]
    const found = ENR === '' ? address : ENR
    if (found === undefined) throw new UsageError(`the node at --rpc has no address of ${peerId}`)
    return found
  } catch (error) {
    if (error instanceof RpcTransportError) return undefined
    throw error
  }
}
