import { z } from 'zod'
import { fromNowText, utcText } from '../../../lib/phrases.ts'
import { shortHash } from '../../../lib/shortIds.ts'
import { formatTable, type LineWidth, plainText, wrapText } from '../../shared/table.ts'
import { formatSeconds } from '../../shared/units.ts'

// Remote answers are validated, because another program may listen at that address.
const refSchema = z.object({ number: z.number(), hash: z.string() })
const endpointSchema = z
  .object({ url: z.string(), silentSinceMs: z.number().nullable(), failures: z.number() })
  .nullable()
const batchSchema = z.object({ type: z.string(), l1Block: z.number(), atMs: z.number() })
const statusSchema = z.object({
  state: z.string(),
  ok: z.boolean(),
  text: z.string(),
  command: z.string().nullable().optional(),
  l1: z.object({
    head: refSchema.nullable(),
    derivedTo: refSchema.nullable(),
    confirmations: z.number(),
    endpoint: endpointSchema,
  }),
  l2: z.object({
    safe: refSchema.nullable(),
    safeMovedAtMs: z.number().nullable(),
    unsafe: refSchema.nullable(),
    windowEndsAtL1Block: z.number().nullable(),
  }),
  forks: z
    .object({
      active: z.string(),
      next: z
        .object({
          name: z.string(),
          time: z.number(),
          ready: z.boolean().nullable(),
          problem: z.string().nullable(),
        })
        .nullable(),
    })
    .nullish(),
  gap: z.object({ text: z.string() }).nullish(),
  engine: z.object({ endpoint: endpointSchema }),
  blobs: z
    .object({
      l1Block: refSchema,
      slot: z.number().nullable(),
      versionedHashes: z.array(z.string()),
      tries: z.number(),
      answers: z.array(z.object({ url: z.string(), problem: z.string() })),
    })
    .nullable(),
  channels: z.array(
    z.object({
      id: z.string(),
      openBlock: z.number(),
      lastBlock: z.number(),
      frames: z.number(),
      bytes: z.number(),
      expectedFrames: z.number().nullable(),
      l1BlocksLeft: z.number().nullable(),
    }),
  ),
  lastBatch: batchSchema.nullable(),
  droppedBatches: z.array(batchSchema.extend({ reason: z.string(), losesChannel: z.boolean() })),
  lostData: z.array(z.object({ what: z.string(), l1Block: z.number(), atMs: z.number(), reason: z.string() })),
  emptyBatches: z.object({ count: z.number(), l1Block: z.number(), lastAtMs: z.number() }).nullable(),
  failure: z.object({ message: z.string(), count: z.number(), sinceMs: z.number() }).nullable(),
  reset: z.object({ reason: z.string(), atMs: z.number(), doneAtMs: z.number().nullable() }).nullable(),
})

/** Rows shown of each list; `--json` shows all. */
const SHOWN = 8

/** Formats devium_derivationStatus, beginning with the summary. */
export function formatDerivation(answer: unknown, nowMs = Date.now(), width?: LineWidth): string {
  const status = statusSchema.parse(answer)
  const since = (atMs: number) => formatSeconds(Math.max(0, Math.round((nowMs - atMs) / 1000)))
  const ago = (atMs: number) => `${since(atMs)} ago`
  const { l1, l2, blobs } = status
  const block = (ref: z.infer<typeof refSchema> | null) =>
    ref === null ? 'unknown' : `${ref.number} ${shortHash(ref.hash)}`
  const endpoint = (state: z.infer<typeof endpointSchema>) => {
    if (state === null) return []
    const silent = state.silentSinceMs === null ? 'answers' : `silent for ${since(state.silentSinceMs)}`
    return [`${state.url} ${silent}`]
  }
  const facts = formatTable(
    ['', ''],
    [
      [
        'L1',
        [`head ${block(l1.head)}`, `derived to ${block(l1.derivedTo)}`, ...confirmations(l1.confirmations)].join(', '),
      ],
      ...endpoint(l1.endpoint).map((text) => ['L1 endpoint', text]),
      ['safe head', `${block(l2.safe)}${l2.safeMovedAtMs === null ? '' : `, advanced ${ago(l2.safeMovedAtMs)}`}`],
      ['unsafe head', block(l2.unsafe)],
      ...(status.forks == null ? [] : forkRows(status.forks, nowMs / 1000)),
      ...(status.gap == null ? [] : [['gap', status.gap.text]]),
      ...endpoint(status.engine.endpoint).map((text) => ['engine', text]),
      ...(l2.windowEndsAtL1Block === null ? [] : [['window ends', `at L1 block ${l2.windowEndsAtL1Block}`]]),
      [
        'last batch',
        status.lastBatch === null
          ? 'none since the start'
          : `${status.lastBatch.type}, L1 block ${status.lastBatch.l1Block}, ${ago(status.lastBatch.atMs)}`,
      ],
      ...(status.emptyBatches === null
        ? []
        : [['empty blocks', `${status.emptyBatches.count}, the last ${ago(status.emptyBatches.lastAtMs)}`]]),
      ...(status.reset === null
        ? []
        : [
            [
              'last reset',
              `${ago(status.reset.atMs)}${status.reset.doneAtMs === null ? ', in progress' : ''}: ${status.reset.reason}`,
            ],
          ]),
      ...(status.failure === null
        ? []
        : [
            ['failing', `${status.failure.count} times in ${since(status.failure.sinceMs)}: ${status.failure.message}`],
          ]),
      ...(blobs === null ? [] : blobRows(blobs)),
    ],
    width,
  ).trim()
  const channels = status.channels
    .slice(0, SHOWN)
    .map(({ id, frames, expectedFrames, bytes, openBlock, l1BlocksLeft }) => [
      shortHash(id),
      expectedFrames === null ? String(frames) : `${frames} of ${expectedFrames}`,
      String(bytes),
      `L1 block ${openBlock}`,
      l1BlocksLeft === null ? '' : `in ${l1BlocksLeft} L1 blocks`,
    ])
  const dropped = newest(status.droppedBatches).map(({ type, l1Block, atMs, reason, losesChannel }) => [
    type,
    String(l1Block),
    ago(atMs),
    `${reason}${losesChannel ? '; its channel is lost' : ''}`,
  ])
  const lost = newest(status.lostData).map(({ what, l1Block, atMs, reason }) => [
    what,
    String(l1Block),
    ago(atMs),
    reason,
  ])
  return [
    [
      `derivation: ${plainText(status.state)}`,
      wrapText(plainText(status.text), width, 0),
      ...(status.command == null ? [] : [`  → ${plainText(status.command)}`]),
    ].join('\n'),
    facts,
    ...(channels.length === 0
      ? []
      : [formatTable(['open channel', 'frames', 'bytes', 'since', 'times out'], channels, width)]),
    ...(dropped.length === 0 ? [] : [formatTable(['dropped batch', 'L1 block', 'when', 'reason'], dropped, width)]),
    ...(lost.length === 0 ? [] : [formatTable(['ignored data', 'L1 block', 'when', 'reason'], lost, width)]),
  ].join('\n\n')
}

function confirmations(count: number): string[] {
  return count === 0 ? [] : [`${count} confirmations required`]
}

function forkRows({ active, next }: NonNullable<z.infer<typeof statusSchema>['forks']>, nowS: number): string[][] {
  if (next === null) return [['fork', active]]
  const { name, time, ready, problem } = next
  const readiness = ready === null ? 'the readiness of the engine is unknown' : ready ? 'ready' : 'not ready'
  return [
    ['fork', active],
    ['next fork', `${name} at ${utcText(time)}, ${fromNowText(time, nowS)}: ${readiness}`],
    ...(problem === null ? [] : [['', problem]]),
  ]
}

function blobRows(blobs: NonNullable<z.infer<typeof statusSchema>['blobs']>): string[][] {
  const slot = blobs.slot === null ? '' : ` (slot ${blobs.slot})`
  return [
    [
      'blobs',
      `${blobs.versionedHashes.map(shortHash).join(', ')} of L1 block ${blobs.l1Block.number}${slot}, ${blobs.tries} attempts`,
    ],
    ...blobs.answers.map(({ url, problem }) => ['', `${url}: ${problem}`]),
  ]
}

/** The last entries of a list that ends with the newest, newest first. */
function newest<T>(list: readonly T[]): T[] {
  return list.slice(-SHOWN).reverse()
}
