import { z } from 'zod'
import { hash, l1Ref, l2Ref } from './blocks.ts'

/** A channel id: 16 bytes. */
const hex = z.templateLiteral(['0x', z.string()])
const moment = z.number().describe('Unix milliseconds')

const endpoint = z
  .object({
    url: z.string(),
    answeredAtMs: moment.nullable(),
    silentSinceMs: moment.nullable(),
    failures: z.number(),
  })
  .nullable()
const batchType = z.enum(['singular', 'span'])
const batch = z.object({ type: batchType, l1Block: z.number(), atMs: moment })
const channel = {
  id: hex,
  openBlock: z.number(),
  lastBlock: z.number(),
  frames: z.number(),
  bytes: z.number(),
}

/** The result of devium_derivationStatus. Unknown values are null. */
export const derivationStatus = z.object({
  state: z.string(),
  ok: z.boolean(),
  text: z.string().describe('one sentence'),
  command: z.string().nullable().describe('the command that ends the state, if known'),
  l1: z.object({
    head: l1Ref.nullable(),
    headSeenAtMs: moment.nullable(),
    derivedTo: l1Ref.nullable(),
    confirmations: z.number(),
    endpoint,
  }),
  l2: z.object({
    safe: l2Ref.nullable(),
    safeMovedAtMs: moment.nullable(),
    unsafe: l2Ref.nullable(),
    windowEndsAtL1Block: z.number().nullable(),
  }),
  forks: z.object({
    active: z.string(),
    next: z
      .object({
        name: z.string(),
        time: z.number().describe('Unix seconds'),
        ready: z.boolean().nullable().describe('whether node and engine are ready; null: unknown'),
        problem: z.string().nullable().describe('why the node or the engine is not ready, in one sentence'),
      })
      .nullable(),
  }),
  gap: z
    .object({
      first: z.number(),
      last: z.number(),
      sinceMs: moment,
      asks: z.enum(['peers', 'engine']),
      text: z.string(),
    })
    .nullable()
    .describe('missing unsafe blocks below the blocks that gossip delivered'),
  engine: z.object({ isSyncing: z.boolean(), endpoint }),
  follows: z.string().nullable(),
  blobs: z
    .object({
      l1Block: z.object({ number: z.number(), hash }),
      slot: z.number().nullable(),
      versionedHashes: z.array(hex),
      sinceMs: moment,
      tries: z.number(),
      answers: z.array(z.object({ url: z.string(), problem: z.string() })),
    })
    .nullable(),
  channels: z.array(
    z.object({ ...channel, expectedFrames: z.number().nullable(), l1BlocksLeft: z.number().nullable() }),
  ),
  lastBatch: batch.nullable(),
  droppedBatches: z.array(z.object({ ...batch.shape, reason: z.string(), losesChannel: z.boolean() })),
  lostData: z.array(
    z.object({
      what: z.enum(['blob', 'frames', 'frame', 'channel']),
      l1Block: z.number(),
      atMs: moment,
      reason: z.string(),
      channel: hex.optional(),
    }),
  ),
  emptyBatches: z.object({ count: z.number(), lastAtMs: moment, l1Block: z.number() }).nullable(),
  failure: z
    .object({
      code: z.string(),
      message: z.string(),
      severity: z.enum(['temporary', 'reset', 'critical']),
      sinceMs: moment,
      atMs: moment,
      count: z.number(),
    })
    .nullable(),
  reset: z.object({ reason: z.string(), atMs: moment, doneAtMs: moment.nullable() }).nullable(),
})

const at = { l1Block: z.number() }
/** Notifications of the topic `derivation`. */
export const derivationEvent = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('started'), ...at }),
  z.object({ kind: z.literal('data-ignored'), ...at, what: z.enum(['blob', 'frames']), reason: z.string() }),
  z.object({
    kind: z.literal('frame-added'),
    ...at,
    channel: z.object({ ...channel, expectedFrames: z.number().optional() }),
    frame: z.number(),
  }),
  z.object({ kind: z.literal('frame-ignored'), ...at, channel: hex, frame: z.number(), reason: z.string() }),
  z.object({ kind: z.literal('channel-first'), channel: hex }),
  z.object({
    kind: z.literal('channel-gone'),
    ...at,
    channel: hex,
    how: z.enum(['read', 'timed-out', 'dropped']),
    reason: z.string().optional(),
  }),
  z.object({ kind: z.literal('channel-read'), ...at, bytes: z.number() }),
  z.object({ kind: z.literal('channel-left'), ...at, reason: z.string() }),
  z.object({ kind: z.literal('batch-read'), ...at, type: batchType }),
  z.object({
    kind: z.literal('batch-dropped'),
    ...at,
    type: batchType,
    reason: z.string(),
    losesChannel: z.boolean(),
  }),
  z.object({ kind: z.literal('empty-batch'), ...at, timestamp: z.number() }),
])
