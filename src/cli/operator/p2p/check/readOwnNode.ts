import { z } from 'zod'
import { RpcTransportError } from '../../../../jsonRpc/client.ts'
import { UsageError } from '../../../../lib/errors.ts'
import { ipNetToCidr, normalizeCidr } from '../../../../lib/ipNet.ts'
import type { NodeClient, NodeMethods } from '../../../../rpc/client/index.ts'
import { ifServed } from '../../nodeCommand.ts'
import { bansSchema } from '../peerSchemas.ts'
import type { OwnNodeView } from './ownNode.ts'

// Remote answers are validated, because another program may listen at that address.
const selfSchema = z.object({ peerID: z.string() })
const dumpSchema = z.object({
  peers: z.record(
    z.string(),
    z.object({ peerID: z.string(), direction: z.number(), addresses: z.array(z.string()).nullable() }),
  ),
  // CIDR text, or op-node's object. Go encodes an empty list as null.
  bannedSubnets: z.array(z.union([z.string(), z.object({ IP: z.string(), Mask: z.string() })])).nullable(),
})
const listSchema = z.array(z.string()).nullish()
const configSchema = z.object({ l2_chain_id: z.union([z.number(), z.string(), z.bigint()]) })
const statusSchema = z.object({
  safe_l2: z.object({ number: z.number() }),
  unsafe_l2: z.object({ number: z.number() }),
})

/** go-libp2p's code of a connection that the peer has dialled. */
const INBOUND = 1

/** Reads the facts that the check needs from a running node. Rejects with one line when no such node answers. */
export async function readOwnNode(node: NodeClient): Promise<OwnNodeView> {
  try {
    return await read(node)
  } catch (error) {
    if (error instanceof RpcTransportError) throw new UsageError(`no node answers at --rpc ${node.url}`)
    if (error instanceof z.ZodError) throw new UsageError(`the program at --rpc ${node.url} is not a rollup node`)
    throw error
  }
}

async function read(node: NodeClient): Promise<OwnNodeView> {
  const [self, dump, blockedPeers, blockedIps, bans, config, status] = await Promise.all([
    ofEither(node, 'self', []),
    ofEither(node, 'peers', [true]),
    // Queried apart, because this project's peer dump lists time-limited bans among `bannedPeers`.
    ofEither(node, 'listBlockedPeers', []),
    ofEither(node, 'listBlockedAddrs', []),
    ifServed(node, 'deviump2p_bans', []),
    ifServed(node, 'optimism_rollupConfig', []),
    ifServed(node, 'optimism_syncStatus', []),
  ])
  if (self === undefined || dump === undefined) {
    throw new UsageError(`the node at --rpc ${node.url} runs without peers`)
  }
  const { peers, bannedSubnets } = dumpSchema.parse(dump)
  const heads = status === undefined ? undefined : statusSchema.parse(status)
  return {
    peerId: selfSchema.parse(self).peerID,
    chainId: config === undefined ? undefined : BigInt(configSchema.parse(config).l2_chain_id),
    // A useful peer has the safe block too.
    blockNumber: heads === undefined ? undefined : heads.safe_l2.number || heads.unsafe_l2.number || undefined,
    blockedPeers: listSchema.parse(blockedPeers) ?? [],
    blockedIps: listSchema.parse(blockedIps) ?? [],
    blockedSubnets: (bannedSubnets ?? []).map((subnet) =>
      typeof subnet === 'string' ? normalizeCidr(subnet) : ipNetToCidr(subnet),
    ),
    bans: bans === undefined ? [] : bansSchema.parse(bans),
    connected: Object.values(peers).map(({ peerID, direction, addresses }) => ({
      peerId: peerID,
      isInbound: direction === INBOUND,
      address: addresses?.[0],
    })),
  }
}

/** op-node has the same methods in its own namespace. */
async function ofEither<M extends 'self' | 'peers' | 'listBlockedPeers' | 'listBlockedAddrs'>(
  node: NodeClient,
  method: M,
  params: NodeMethods[`deviump2p_${M}`]['params'] & NodeMethods[`opp2p_${M}`]['params'],
): Promise<unknown> {
  return (await ifServed(node, `deviump2p_${method}`, params)) ?? (await ifServed(node, `opp2p_${method}`, params))
}
