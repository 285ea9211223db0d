import { z } from 'zod'
import type { NodeClient } from '../../../rpc/client/index.ts'
import { bansSchema, dumpSchema, scoreSchema } from '../p2p/peerSchemas.ts'
import type { WatchedPeer } from './watchState.ts'

/** Reads connected, banned and blocked peers. Throws ZodError for a malformed answer. */
export async function readPeers(
  node: Pick<NodeClient, 'request'>,
  names: Readonly<Record<string, string>> = {},
): Promise<WatchedPeer[]> {
  const [dump, reports, bans, blocked] = await Promise.all([
    node.request('deviump2p_peers', [true]).then((answer) => dumpSchema.parse(answer)),
    node.request('deviump2p_peerScore', []).then((answer) => scoreSchema.array().parse(answer)),
    node.request('deviump2p_bans', []).then((answer) => bansSchema.parse(answer)),
    node.request('deviump2p_listBlockedPeers', []).then((answer) => z.array(z.string()).parse(answer)),
  ])
  const reportsById = new Map(reports.map((report) => [report.peerID, report]))
  const bansById = new Map(bans.filter(({ kind }) => kind === 'peer').map((ban) => [ban.subject, ban]))
  const blockedIds = new Set(blocked)
  const connected = Object.keys(dump.peers).filter((id) => dump.peers[id]?.connectedness === 1)
  return [...new Set([...connected, ...bansById.keys(), ...blockedIds])].map((id) => {
    const record = dump.peers[id]
    const report = reportsById.get(id)
    const ban = bansById.get(id)
    return {
      id,
      name: names[id],
      isConnected: record?.connectedness === 1,
      direction: record?.direction === 1 ? 'inbound' : record?.direction === 2 ? 'outbound' : undefined,
      score: report?.total ?? record?.scores.gossip.total ?? 0,
      mainReason: report?.mainReason ?? '',
      isInMesh: report?.topics.parts.some(({ inMesh }) => inMesh) ?? false,
      latencyMs: record === undefined || record.latency === 0 ? undefined : record.latency / 1e6,
      isStatic: report?.static ?? false,
      isProtected: record?.protected ?? false,
      isBlocked: blockedIds.has(id),
      ban: ban === undefined ? undefined : { reason: ban.reason, untilMs: ban.untilMs },
      address: record?.addresses[0]?.replace(/\/p2p\/.*$/, '') ?? '',
      agent: record?.userAgent ?? '',
    }
  })
}
