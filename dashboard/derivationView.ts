import { shortHash } from '../src/lib/shortIds.ts'
import type { BatcherStatus, DerivationStatus } from './answers.ts'
import { byId, type Child, el, replaceIfChanged } from './dom.ts'
import { forkRows } from './forkRows.ts'
import { ago, bytes, count, countOf, duration, sentence } from './format.ts'
import type { NodeState } from './nodeState.ts'
import { emptyText, factsList, table, tableRow } from './parts.ts'

/** Number of latest entries in each list. */
const SHOWN = 6

export function showDerivation({ derivation }: NodeState, nowMs: number): void {
  const second = Math.floor(nowMs / 2_000)
  replaceIfChanged(byId('derivation'), JSON.stringify([derivation, second]), () =>
    derivation === undefined ? [emptyText('No data yet.')] : derivationParts(derivation, nowMs),
  )
}

function derivationParts(status: DerivationStatus, nowMs: number): Child[] {
  const { l1, l2, engine, channels, lastBatch, droppedBatches, lostData, blobs } = status
  const endpoint = (state: typeof l1.endpoint): string =>
    state === null
      ? '–'
      : `${state.url} ${state.silentSinceMs === null ? 'answers' : `has not answered for ${duration(nowMs - state.silentSinceMs)}`}`
  const rows: [string, string][] = [
    ['State', status.text],
    [
      'L1 derived to',
      `${l1.derivedTo === null ? '?' : l1.derivedTo.number} of ${l1.head === null ? '?' : l1.head.number}`,
    ],
    [
      'Last batch',
      lastBatch === null
        ? 'none since the start'
        : `${lastBatch.type}, L1 block ${lastBatch.l1Block}, ${ago(nowMs, lastBatch.atMs)}`,
    ],
    ['Window ends', l2.windowEndsAtL1Block === null ? '–' : `at L1 block ${l2.windowEndsAtL1Block}`],
    ...forkRows(status.forks, nowMs),
    ['L1 endpoint', endpoint(l1.endpoint)],
    ['Engine', engine.isSyncing ? 'syncs by its own network' : endpoint(engine.endpoint)],
  ]
  if (blobs !== null) {
    const which = `${countOf(blobs.versionedHashes.length, 'blob')} of L1 block ${blobs.l1Block.number}`
    rows.push(['Blobs', `${which}, ${countOf(blobs.tries, 'attempt')}`])
  }
  return [
    factsList(rows),
    el('h3', {}, 'Open channels'),
    channels.length === 0
      ? emptyText('None.')
      : textTable(
          ['Channel', 'Frames', 'Size', 'Times out'],
          channels
            .slice(0, SHOWN)
            .map(({ id, frames, expectedFrames, bytes: size, l1BlocksLeft }) => [
              shortHash(id),
              expectedFrames === null ? String(frames) : `${frames} of ${expectedFrames}`,
              bytes(size),
              l1BlocksLeft === null ? '–' : `in ${countOf(l1BlocksLeft, 'L1 block')}`,
            ]),
        ),
    el('h3', {}, 'Dropped batches'),
    droppedBatches.length === 0
      ? emptyText('None since the start of the node.')
      : textTable(
          ['Batch', 'L1 block', 'Time', 'Reason'],
          droppedBatches
            .slice(-SHOWN)
            .reverse()
            .map(({ type, l1Block, atMs, reason, losesChannel }) => [
              type,
              String(l1Block),
              ago(nowMs, atMs),
              `${reason}${losesChannel ? '; its channel is lost' : ''}`,
            ]),
        ),
    ...(lostData.length === 0
      ? []
      : [
          el('h3', {}, 'Ignored data'),
          textTable(
            ['Data', 'L1 block', 'Time', 'Reason'],
            lostData
              .slice(-SHOWN)
              .reverse()
              .map(({ what, l1Block, atMs, reason }) => [what, String(l1Block), ago(nowMs, atMs), reason]),
          ),
        ]),
  ]
}

export function showBatcher({ batcher, batcherProblem }: NodeState, nowMs: number): void {
  const second = Math.floor(nowMs / 2_000)
  replaceIfChanged(byId('batcher'), JSON.stringify([batcher, batcherProblem, second]), () => {
    if (batcherProblem !== undefined) return [emptyText(sentence(batcherProblem), 'empty bad')]
    if (batcher === undefined) return [emptyText('No data yet.')]
    if (batcher !== null) return batcherParts(batcher, nowMs)
    return [emptyText('No batch submitter is configured. Set --dashboard.batcher to show its transactions and cost.')]
  })
}

function batcherParts(status: BatcherStatus, nowMs: number): Child[] {
  const { openChannel: open, inFlight, lastHour } = status
  const throttled = ['Block builders', 'throttled, because too much data is not safe yet'] as const
  return [
    factsList([
      ['State', status.running ? 'running' : 'stopped'],
      ['Activity', sentence(status.why)],
      ['Account', status.from],
      [
        'Waiting',
        `${countOf(status.pendingBlocks, 'block')} in no channel, ${countOf(status.channelsToConfirm, 'channel')} not confirmed`,
      ],
      [
        'Open channel',
        open === null ? 'none' : `blocks ${open.firstBlock} to ${open.lastBlock}, ${bytes(open.inputBytes)}`,
      ],
      [
        'Last hour',
        `${countOf(lastHour.transactions, 'transaction')}, ${bytes(lastHour.bytes)}, ${cost(lastHour.costGwei)}`,
      ],
      ...(status.throttling ? [throttled] : []),
    ]),
    el('h3', {}, 'Transactions in flight'),
    inFlight.length === 0
      ? emptyText('None.')
      : textTable(
          ['Nonce', 'Data', 'Age', 'Fee cap', 'State'],
          inFlight
            .slice(0, SHOWN)
            .map(({ nonce, blobs, startedAtMs, feeCapWei, minedIn, problem, bumps }) => [
              String(nonce),
              blobs === 0 ? 'calldata' : countOf(blobs, 'blob'),
              duration(Math.max(0, nowMs - startedAtMs)),
              `${(Number(feeCapWei) / 1e9).toPrecision(3)} gwei`,
              problem ??
                (minedIn === null
                  ? `in no block yet${bumps === 0 ? '' : `, ${countOf(bumps, 'bump')}`}`
                  : `in L1 block ${minedIn}`),
            ]),
        ),
  ]
}

function cost(costGwei: number): string {
  return costGwei < 1_000_000 ? `${count(Math.round(costGwei))} gwei` : `${(costGwei / 1e9).toFixed(6)} ether`
}

function textTable(heads: readonly string[], rows: readonly string[][]): HTMLElement {
  const made = rows.map((cells) => tableRow(...cells))
  return el('div', { class: 'scrolls' }, table({ class: 'plain' }, heads, made))
}
