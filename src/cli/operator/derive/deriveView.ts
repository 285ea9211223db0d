import type { z } from 'zod'
import { fromNowText, utcText } from '../../../lib/phrases.ts'
import { shortHash } from '../../../lib/shortIds.ts'
import { derivationStatus } from '../../../rpc/schemas/derivation.ts'
import { formatTable, type LineWidth, plainText, wrapText } from '../../shared/table.ts'
import { formatSeconds } from '../../shared/units.ts'

// Remote answers are validated, because another program may listen at that address.
// An older node omits the optional members.
const statusSchema = derivationStatus.partial({ command: true, forks: true, gap: true })
type Status = z.infer<typeof statusSchema>

/** Rows shown of each list; `--json` shows all. */
const SHOWN = 8

/** Formats devium_derivationStatus, beginning with the summary. */
export function formatDerivation(answer: unknown, nowMs = Date.now(), width?: LineWidth): string {
  const status = statusSchema.parse(answer)
  const since = (atMs: number) => formatSeconds(Math.max(0, Math.round((nowMs - atMs) / 1000)))
  const ago = (atMs: number) => `${since(atMs)} ago`
  const { l1, l2, blobs } = status
  const block = (ref: Status['l2']['safe'] | Status['l1']['head']) =>
    ref === null ? 'unknown' : `${ref.number} ${shortHash(ref.hash)}`
  const endpoint = (state: Status['engine']['endpoint']) => {
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

function forkRows({ active, next }: NonNullable<Status['forks']>, nowS: number): string[][] {
  if (next === null) return [['fork', active]]
  const { name, time, ready, problem } = next
  const readiness = ready === null ? 'the readiness of the engine is unknown' : ready ? 'ready' : 'not ready'
  return [
    ['fork', active],
    ['next fork', `${name} at ${utcText(time)}, ${fromNowText(time, nowS)}: ${readiness}`],
    ...(problem === null ? [] : [['', problem]]),
  ]
}

function blobRows(blobs: NonNullable<Status['blobs']>): string[][] {
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
