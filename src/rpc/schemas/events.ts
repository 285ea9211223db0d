import { z } from 'zod'
import { derivationEvent } from './derivation.ts'
import { healthEvent } from './health.ts'
import { syncStatus } from './rollup.ts'

const peerID = z.string()
const ip = z.string()
const blockListChanged = { event: z.enum(['block', 'unblock']) }
const unban = { event: z.literal('unban'), cause: z.enum(['expired', 'lifted']) }

/** Content of the notifications of each topic of devium_subscribe. */
export const EVENTS = {
  heads: syncStatus,
  derivation: derivationEvent,
  health: healthEvent,
  peers: z.discriminatedUnion('event', [
    z.object({
      event: z.literal('connected'),
      peerID,
      address: z.string(),
      direction: z.enum(['inbound', 'outbound']),
    }),
    z.object({ event: z.literal('disconnected'), peerID, by: z.enum(['us', 'peer']), cause: z.string() }),
    z.object({
      event: z.enum(['graft', 'prune']),
      peerID,
      version: z.number(),
      cause: z.enum(['by-us', 'by-peer', 'refused']),
    }),
    z.object({ event: z.literal('scores'), scores: z.record(z.string(), z.number()) }),
  ]),
  bans: z.union([
    z.object({ event: z.literal('ban'), peerID, reason: z.string(), untilMs: z.number() }),
    z.object({ ...unban, peerID }),
    z.object({ ...unban, ip }),
    z.object({ ...blockListChanged, peerID }),
    z.object({ ...blockListChanged, ip }),
    z.object({ ...blockListChanged, subnet: z.string() }),
  ]),
}
export type Topic = keyof typeof EVENTS
export type Events = { [T in Topic]: z.infer<(typeof EVENTS)[T]> }
