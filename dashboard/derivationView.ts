import { shortHash } from '../src/lib/shortIds.ts'
import type { BatcherStatus, DerivationStatus } from './answers.ts'
import { byId, type Child, el, replaceIfChanged } from './dom.ts'
import { forkRows } from './forkRows.ts'
import { ago, bytes, count, countOf, duration, sentence } from './format.ts'
import type { NodeState } from './nodeState.ts'

/** Number of latest entries in each list. */
const SHOWN = 6

export function showDerivation({ derivation }: NodeState, nowMs: number): void {
  const second = Math.floor(nowMs / 2_000)
  replaceIfChanged(byId('derivation'), JSON.stringify([derivation, second]), () =>
    derivation === undefined ? [el('p', { class: 'empty' }, 'No data yet.')] : derivationParts(derivation, nowMs),
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
    ...(blobs === null
      ? []
      : [
          [
            'Blobs',
            `${countOf(blobs.versionedHashes.length, 'blob')} of L1 block ${blobs.l1Block.number}, ${countOf(blobs.tries, 'attempt')}`,
          ] as [string, string],
        ]),
  ]
  return [
    facts(rows),
    el('h3', {}, 'Open channels'),
    channels.length === 0
      ? el('p', { class: 'empty' }, 'None.')
      : table(
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
      ? el('p', { class: 'empty' }, 'None since the start of the node.')
      : table(
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
          table(
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
    if (batcherProblem !== undefined) return [el('p', { class: 'empty bad' }, sentence(batcherProblem))]
    if (batcher === undefined) return [el('p', { class: 'empty' }, 'No data yet.')]
    if (batcher === null) {
      return [
        el(
          'p',
          { class: 'empty' },
          'No batch submitter is configured. Set --dashboard.batcher to show its transactions and cost.',
        ),
      ]
    }
    return batcherParts(batcher, nowMs)
  })
}

function batcherParts(status: BatcherStatus, nowMs: number): Child[] {
  const { openChannel: open, inFlight, lastHour } = status
  return [
    facts([
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
      ...(status.throttling
        ? ([['Block builders', 'throttled, because too much data is not safe yet']] as [string, string][])
        : []),
    ]),
    el('h3', {}, 'Transactions in flight'),
    inFlight.length === 0
      ? el('p', { class: 'empty' }, 'None.')
      : table(
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

function facts(rows: readonly [string, string][]): HTMLElement {
  return el(
    'dl',
    { class: 'facts-list' },
    ...rows.flatMap(([name, value]) => [el('dt', {}, name), el('dd', {}, value)]),
  )
}

function table(heads: readonly string[], rows: readonly string[][]): HTMLElement {
  return el(
    'div',
    { class: 'scrolls' },
    el(
      'table',
      { class: 'plain' },
      el('thead', {}, el('tr', {}, ...heads.map((text) => el('th', {}, text)))),
      el('tbody', {}, ...rows.map((cells) => el('tr', {}, ...cells.map((text) => el('td', {}, text))))),
    ),
  )
}
