import { z } from 'zod'
import { UsageError } from '../../../lib/errors.ts'
import { shortPeer } from '../../../lib/shortIds.ts'
import type { NodeClient } from '../../../rpc/client/index.ts'
import { requestPeerNames } from './peerNames.ts'

const dumpSchema = z.object({ peers: z.record(z.string(), z.unknown()), bannedPeers: z.array(z.string()) })
const historiesSchema = z.array(z.object({ peerID: z.string() }))

/** Shorter than any whole peer id. */
const MAX_PART = 40
const MIN_PART = 3

/**
 * Resolves a peer's name, or the beginning or end of its id as tables show it (`…hN2fKq7w`), to the whole id. Throws
 * UsageError unless exactly one known peer matches. The node itself checks a text that is long enough to be an id.
 */
export async function resolvePeer(node: NodeClient, given: string): Promise<string> {
  const part = given.replace(/^(…|\.\.\.)|(…|\.\.\.)$/g, '')
  if (part.length > MAX_PART) return part
  const names = await requestPeerNames(node)
  const [named] = Object.entries(names).find(([, name]) => name === given) ?? []
  if (named !== undefined) return named
  if (part.length < MIN_PART)
    throw new UsageError(`"${given}": expected at least ${MIN_PART} characters of the peer id`)
  const fits = (id: string): boolean => id.startsWith(part) || id.endsWith(part)
  const { peers, bannedPeers } = dumpSchema.parse(await node.request('deviump2p_peers', [false]))
  const known = new Set([...Object.keys(peers), ...bannedPeers].filter(fits))
  if (known.size === 0) {
    // The peer store has forgotten a disconnected peer, but the history may still have it.
    const histories = historiesSchema.parse(await node.request('deviump2p_peerHistory', []))
    for (const { peerID } of histories) if (fits(peerID)) known.add(peerID)
  }
  const [only] = known
  if (only === undefined)
    throw new UsageError(`no known peer id begins or ends with "${part}". List the known peers: devium peers --all`)
  if (known.size === 1) return only
  const some = [...known].slice(0, 3).map(shortPeer).join(', ')
  throw new UsageError(
    `"${part}" fits ${known.size} peers (${some}${known.size > 3 ? ', …' : ''}): expected more characters of the id`,
  )
}
