import { formatNumber } from '../../../lib/formatNumber.ts'
import { shortHash, shortPeer } from '../../../lib/shortIds.ts'
import { formatTable, peerFor, plainText, wrapText } from '../../shared/table.ts'
import type { ScreenSize } from '../../shared/terminal/fullScreen.ts'
import { cutLine, type Line, type Span, type Style } from '../../shared/terminal/styledLine.ts'
import { formatSeconds, formatTime } from '../../shared/units.ts'
import { formatExplanation } from '../p2p/explainView.ts'
import type { Extent } from './watchKeys.ts'
import type { PartHealth, WatchedPeer, WatchState } from './watchState.ts'

export interface Shown {
  /** The node's address without its secrets. */
  url: string
  nowMs: number
}

/** Maximal rows of a sentence, so that the rest of the screen keeps enough rows. */
const SENTENCE_ROWS = 3
/** A screen with this many rows also shows hashes and the reasons of scores. */
const TALL_ROWS = 36
const WIDE_COLUMNS = 120
const MIN_HAPPENING_ROWS = 3
/** The result of the last action, and the keys. */
const FOOT_ROWS = 2

const LIST_KEYS = '↑ ↓ select   Enter explain   b block   u unblock   s sort   q quit'
const EXPLAIN_KEYS = '↑ ↓ scroll   Esc back   b block   u unblock   q quit'

/** Renders the whole screen, with at most as many lines as the terminal has rows. */
export function renderWatch(state: WatchState, size: ScreenSize, shown: Shown): Line[] {
  const head = headLines(state, size, shown)
  const room = Math.max(0, size.rows - head.length - FOOT_ROWS)
  const { lines: body, keys } =
    state.mode.kind === 'explain'
      ? explanationPage(state, size, room)
      : { lines: listLines(state, size, room, shown), keys: LIST_KEYS }
  const foot: Line[] = [noticeLine(state), [{ text: keys, style: 'dim' }]]
  // Excess lines are removed from the middle, because the first and the last lines matter most.
  const above = Array.from({ length: Math.max(0, size.rows - FOOT_ROWS) }, (_, row) => [...head, ...body][row] ?? '')
  return [...above, ...foot].slice(-size.rows).map((line) => cutLine(line, size.columns))
}

/** The ranges of selection and scrolling on this screen. */
export function extentOf(state: WatchState, size: ScreenSize, shown: Shown): Extent {
  const pageRows = Math.max(1, size.rows - headLines(state, size, shown).length - FOOT_ROWS)
  if (state.mode.kind !== 'explain') return { pageRows: Math.max(1, Math.floor(pageRows / 2)), explanationRows: 0 }
  return { pageRows, explanationRows: explanationLines(state, size).length }
}

function headLines(state: WatchState, size: ScreenSize, { url, nowMs }: Shown): Line[] {
  const { connection, version } = state
  const clock = `${formatTime(nowMs).slice(11)} UTC`
  const name = plainText(`devium ${version}`)
  const gap = Math.max(3, size.columns - name.length - 3 - url.length - clock.length)
  const title: Line = [{ text: name, style: 'bold' }, `   ${url}${' '.repeat(gap)}${clock}`]
  const sentences =
    connection.state === 'lost'
      ? sentenceLines(
          'no answer',
          `for ${formatSeconds((nowMs - connection.sinceMs) / 1000)}. The data below is from before: ${connection.problem}`,
          'bad',
          size,
        )
      : [
          ...verdictRows(state, size),
          ...partLines('derivation', state.derivation, size),
          ...(state.gossip === null
            ? sentenceLines('gossip', 'the node runs without peers (--p2p.disable)', undefined, size)
            : partLines('gossip', state.gossip, size)),
        ]
  return [title, ...sentences, '', ...headsTable(state, size, nowMs), '']
}

const VERDICT_STYLES: Record<string, Style> = { healthy: 'good', degraded: 'notable', stopped: 'bad' }

/** The node's verdict, and the command that resolves its first cause. */
function verdictRows({ verdict }: WatchState, size: ScreenSize): Line[] {
  if (verdict === undefined) return sentenceLines('node', '…', undefined, size)
  const [first] = verdict.causes
  const command =
    first?.command == null ? [] : [cutLine(`${' '.repeat(LABEL_WIDTH)}→ ${plainText(first.command)}`, size.columns)]
  return [...sentenceLines('node', verdict.text, VERDICT_STYLES[verdict.state], size), ...command]
}

function partLines(name: string, part: PartHealth | undefined, size: ScreenSize): Line[] {
  if (part === undefined) return sentenceLines(name, '…', undefined, size)
  return sentenceLines(name, `${part.state}: ${part.text}`, part.ok ? 'good' : 'bad', size)
}

const LABEL_WIDTH = 12

/** The coloured label, with the sentence on a few rows next to it. */
function sentenceLines(label: string, text: string, style: Style | undefined, { columns }: ScreenSize): Line[] {
  const room = Math.max(20, columns - LABEL_WIDTH)
  const [first = '', ...more] = wrapText(plainText(text), room, 0).split('\n')
  const rest = more.join(' ')
  const padded = label.padEnd(LABEL_WIDTH)
  const start: Span = style === undefined ? padded : { text: padded, style }
  return [[start, first], ...(rest === '' ? [] : [cutLine(`${' '.repeat(LABEL_WIDTH)}${rest}`, columns)])].slice(
    0,
    SENTENCE_ROWS,
  )
}

function headsTable({ heads }: WatchState, { rows }: ScreenSize, nowMs: number): Line[] {
  if (heads === undefined) return ['the heads are not known yet']
  const refs = [heads.unsafe_l2, heads.safe_l2, heads.finalized_l2, heads.head_l1, heads.current_l1]
  const isKnown = (hash: string) => !/^0x0*$/.test(hash)
  const cells = (text: (ref: (typeof refs)[number]) => string) =>
    refs.map((ref) => (isKnown(ref.hash) ? text(ref) : '-'))
  const table = formatTable(
    ['', 'L2 unsafe', 'L2 safe', 'L2 finalized', 'L1 head', 'L1 derived to'],
    [
      ['block', ...cells(({ number }) => String(number))],
      ['age', ...cells(({ timestamp }) => `${formatSeconds(Math.max(0, nowMs / 1000 - timestamp))}`)],
      ...(rows >= TALL_ROWS ? [['hash', ...cells(({ hash }) => shortHash(hash))]] : []),
    ],
  )
  const [header = '', ...lines] = table.split('\n')
  return [[{ text: header, style: 'dim' }], ...lines]
}

function listLines(state: WatchState, size: ScreenSize, room: number, { nowMs }: Shown): Line[] {
  const { peers, eventLines } = state
  const connected = peers.filter(({ isConnected }) => isConnected).length
  const refused = peers.filter(({ isBlocked, ban }) => isBlocked || ban !== undefined).length
  const title = [
    `peers  ${connected} connected`,
    ...(refused === 0 ? [] : [`${refused} blocked or banned`]),
    `sorted by ${state.sorting}`,
  ].join(', ')
  // Two titles, the table's header, and an empty line between both parts.
  const rows = Math.max(0, room - 4)
  const eventRows = Math.max(
    Math.min(MIN_HAPPENING_ROWS, rows),
    rows - peers.length,
    Math.min(eventLines.length, Math.floor(rows / 3)),
  )
  const recent = eventLines.slice(-eventRows).map(({ atMs, text, tone }): Line => {
    const line = `${formatTime(atMs).slice(11)}  ${plainText(text)}`
    return [tone === 'plain' ? line : { text: line, style: tone }]
  })
  const lines: Line[] = [
    [{ text: title, style: 'bold' }],
    ...peerRows(state, size, rows - eventRows, nowMs),
    '',
    [{ text: 'events', style: 'bold' }],
    ...(recent.length === 0 ? ['no events yet'] : recent),
  ]
  return lines.slice(0, room)
}

/** The table's header and `room` rows around the selected row. */
function peerRows(state: WatchState, { columns }: ScreenSize, room: number, nowMs: number): Line[] {
  const { peers, selected } = state
  if (state.gossip === null) return ['the node runs without peers']
  const isWide = columns >= WIDE_COLUMNS
  const cells = (peer: WatchedPeer): string[] => [
    peer.id === selected ? '>' : '',
    peer.name ?? peerFor(peer.id, columns),
    formatNumber(peer.score),
    peer.isInMesh ? 'mesh' : '-',
    peer.direction ?? '-',
    peer.latencyMs === undefined ? '-' : `${peer.latencyMs.toFixed(1)} ms`,
    accessStateOf(peer, nowMs),
    ...(isWide ? [peer.score === 0 ? '' : peer.mainReason] : []),
    [peer.agent, peer.address].filter((text) => text !== '').join(' '),
  ]
  const header = ['', 'peer', 'score', 'mesh', 'direction', 'latency', 'state']
  const index = peers.findIndex(({ id }) => id === selected)
  const top = Math.max(0, Math.min(index - Math.floor(room / 2), peers.length - room))
  const visible = peers.slice(top, top + room)
  const table = formatTable([...header, ...(isWide ? ['main reason'] : []), 'agent and address'], visible.map(cells))
  const [first = '', ...lines] = table.split('\n')
  return [
    [{ text: first, style: 'dim' }],
    ...lines.map((text, row): Line => {
      const peer = visible[row]
      if (peer === undefined) return text
      if (peer.id === selected) return [{ text: text.padEnd(columns), style: 'inverse' }]
      const style = styleOf(peer)
      return style === undefined ? text : [{ text, style }]
    }),
  ]
}

function accessStateOf({ ban, isBlocked, isStatic, isProtected, isConnected }: WatchedPeer, nowMs: number): string {
  if (isBlocked) return 'blocked'
  if (ban !== undefined) return `banned for ${formatSeconds(Math.max(0, ban.untilMs - nowMs) / 1000)}`
  if (isStatic) return 'static'
  if (isProtected) return 'protected'
  return isConnected ? '' : 'disconnected'
}

function styleOf({ ban, isBlocked, isConnected, score }: WatchedPeer): Style | undefined {
  if (ban !== undefined || isBlocked) return 'bad'
  if (!isConnected) return 'dim'
  return score < 0 ? 'notable' : undefined
}

function explanationLines({ mode }: WatchState, { columns }: ScreenSize): string[] {
  if (mode.kind !== 'explain') return []
  if (mode.answers === undefined) return [`requesting data of ${mode.peerId} …`]
  return formatExplanation(mode.answers, columns).split('\n')
}

function explanationPage(state: WatchState, size: ScreenSize, room: number): { lines: Line[]; keys: string } {
  const lines = explanationLines(state, size)
  const top = state.mode.kind === 'explain' ? Math.max(0, Math.min(state.mode.top, lines.length - room)) : 0
  const below = lines.length - top - room
  return {
    lines: lines.slice(top, top + room),
    keys: below > 0 ? `${EXPLAIN_KEYS}   (${below} more lines)` : EXPLAIN_KEYS,
  }
}

function noticeLine({ confirming, notice }: WatchState): Line {
  if (confirming !== undefined) {
    const { verb, peerId } = confirming
    const what =
      verb === 'block'
        ? `Block ${shortPeer(peerId)}, and close its connections?`
        : `Unblock ${shortPeer(peerId)}, end its ban, and reset its score?`
    return [{ text: ` ${what}  y: yes, any other key: no `, style: 'inverse' }]
  }
  if (notice === undefined) return ''
  const text = plainText(notice.text)
  return [notice.tone === 'plain' ? text : { text, style: notice.tone }]
}
