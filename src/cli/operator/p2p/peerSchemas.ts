import { z } from 'zod'
import { ban, peerEvent, scoreReport } from '../../../p2p/base/schemas.ts'
import { cidr, peerDump, peerRecord } from '../../../rpc/schemas/peers.ts'

// Remote answers are validated, because another program may listen at that address.

/** deviump2p_peerScore of one peer. */
export const scoreSchema = z.object({
  ...scoreReport.shape,
  servesBlocks: scoreReport.shape.servesBlocks.default(null),
  advice: scoreReport.shape.advice.default([]),
})

/** deviump2p_peerHistory of one peer. */
export const historySchema = z.object({
  peerID: z.string(),
  events: z.array(z.object({ ...peerEvent.omit({ firstMs: true }).shape, kind: z.string() })),
})

/** deviump2p_bans. */
export const bansSchema = z.array(ban)

/** deviump2p_peers. */
export const dumpSchema = peerDump(cidr, peerRecord)

export type Score = z.infer<typeof scoreSchema>
export type PeerEvents = z.infer<typeof historySchema>['events']
