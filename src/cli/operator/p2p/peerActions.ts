import { isIP } from 'node:net'
import { z } from 'zod'
import { parseCidr, parseIp, subnetContains } from '../../../lib/ipNet.ts'
import { blockedKind } from '../../../p2p/base/api.ts'
import type { BlockRecord } from '../../../p2p/base/schemas.ts'
import type { NodeClient } from '../../../rpc/client/index.ts'
import { questionBeforeBlock } from './blockGuard.ts'
import { scoreSchema } from './peerSchemas.ts'
import { resolvePeer } from './resolvePeer.ts'

/** A command that changes the state of one peer and reports the change. */
export interface PeerAction {
  name: string
  argument: string
  description: string
  /** Asks for confirmation when the action may affect more than intended; `--yes` confirms. */
  question?(node: NodeClient, subject: string): Promise<string | undefined>
  /** The command takes a reason, which the node stores with the entry. */
  takesReason?: true
  /** Resolves to a sentence about the change. */
  run(node: NodeClient, subject: string, reason?: string): Promise<string>
}

const UNBLOCK = {
  peer: 'deviump2p_unblockPeer',
  address: 'deviump2p_unblockAddr',
  subnet: 'deviump2p_unblockSubnet',
} as const

type PeerMethod = `deviump2p_${'protect' | 'unprotect' | 'disconnect'}Peer`

function peerAction(
  name: string,
  description: string,
  method: PeerMethod,
  done: (peerId: string) => string,
): PeerAction {
  return {
    name,
    argument: '<peer>',
    description,
    async run(node, given) {
      const peerId = await resolvePeer(node, given)
      await node.request(method, [peerId])
      return done(peerId)
    },
  }
}

function listAction(verb: 'block' | 'unblock', description: string, done: string): PeerAction {
  return {
    name: verb,
    argument: '<peer|ip|subnet>',
    description,
    async run(node, given, reason) {
      const kind = blockedKind(given)
      const subject = kind === 'peer' ? await resolvePeer(node, given) : given
      if (verb === 'block') await node.request('deviump2p_block', reason === undefined ? [subject] : [subject, reason])
      else await node.request(UNBLOCK[kind], [subject])
      const left = verb === 'unblock' ? await refusalsLeft(node, kind, subject) : []
      return left.length === 0
        ? `${subject} ${done}`
        : `${subject} was removed from the block list, but is still refused: ${left.join('; ')}`
    },
  }
}

/** Other bans and blocks that still refuse the peer after its own entry was removed. */
async function refusalsLeft(node: NodeClient, kind: BlockRecord['kind'], subject: string): Promise<string[]> {
  if (kind === 'peer') {
    const { refusals } = scoreSchema.parse(await node.request('deviump2p_peerScore', [subject]))
    return refusals.map(({ reason }) => reason)
  }
  if (kind === 'subnet' || isIP(subject) === 0) return []
  const subnets = z.array(z.string()).parse(await node.request('deviump2p_listBlockedSubnets', []))
  return subnets
    .filter((cidr) => subnetContains(parseCidr(cidr), parseIp(subject)))
    .map((cidr) => `it belongs to the blocked subnet ${cidr}`)
}

export const PEER_ACTIONS: readonly PeerAction[] = [
  {
    ...listAction(
      'block',
      'Block a peer, IP address or subnet, and close its connections',
      'is blocked, and its connections are closed',
    ),
    question: questionBeforeBlock,
    takesReason: true,
  },
  listAction(
    'unblock',
    'Unblock a peer, IP address or subnet. Also ends a ban and resets the score of the peer',
    'is no longer blocked or banned',
  ),
  peerAction(
    'protect',
    'Protect a peer from trimming, which disconnects peers above the limit',
    'deviump2p_protectPeer',
    (peerId) => `${peerId} is protected from trimming`,
  ),
  peerAction(
    'unprotect',
    'End the protection of a peer from trimming',
    'deviump2p_unprotectPeer',
    (peerId) => `${peerId} is no longer protected from trimming`,
  ),
  {
    name: 'connect',
    argument: '<address>',
    description: 'Dial a multiaddress that ends in /p2p/<peer id>',
    async run(node, address) {
      await node.request('deviump2p_connectPeer', [address])
      return `connected to ${address}`
    },
  },
  peerAction(
    'disconnect',
    'Close the connections of a peer and forget it. Also removes it from the block list',
    'deviump2p_disconnectPeer',
    (peerId) => `${peerId} is disconnected and forgotten`,
  ),
]
