import { z } from 'zod'
import { peerRecord } from '../../p2p/base/schemas.ts'

export { gossipHealth } from '../../p2p/base/healthReport.ts'
export { accessRules, ban, peerHistory, peerRecord, scoreReport, standing } from '../../p2p/base/schemas.ts'

export const cidr = z.string()
/** Go's `net.IPNet`. The mask is base64. */
export const ipNet = z.object({ IP: z.string(), Mask: z.string() })

/** As `opp2p_*` show a peer: op-node writes null for an empty list of addresses. */
export const opPeerRecord = peerRecord.extend({ addresses: peerRecord.shape.addresses.nullable() })

export const peerDump = <T extends z.ZodType, P extends z.ZodType>(subnet: T, peer: P) =>
  z.object({
    totalConnected: z.number(),
    peers: z.record(z.string(), peer),
    bannedPeers: z.array(z.string()),
    bannedIPS: z.array(z.string()),
    bannedSubnets: z.array(subnet),
  })

export const peerStats = z.record(
  z.enum(['connected', 'table', 'blocksTopic', 'blocksTopicV2', 'banned', 'known']),
  z.number(),
)
/** The result of opp2p_peerStats, with two more topics. */
export const opPeerStats = z.object({
  ...{ connected: z.number(), table: z.number(), banned: z.number(), known: z.number() },
  ...{ blocksTopic: z.number(), blocksTopicV2: z.number(), blocksTopicV3: z.number(), blocksTopicV4: z.number() },
})
