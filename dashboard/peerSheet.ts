import { formatNumber } from '../src/lib/formatNumber.ts'
import { eventText } from '../src/p2p/base/eventText.ts'
import type { PeerEvent, PeerHistory, PeerScoreReport } from '../src/p2p/base/schemas.ts'
import { scoreRows } from '../src/p2p/base/scoreRows.ts'
import { carryOut, NO_CHANGES, PEER_ACTIONS, type PeerAction } from './actions.ts'
import { type Child, el, replaceIfChanged } from './dom.ts'
import { clockTime, duration, messageOf, sentence } from './format.ts'
import { nodeNameOf, type Page, peerName } from './page.ts'
import { button, emptyText, failedText, idText, numberCell, sheetDialog, sheetHead, table, tableRow } from './parts.ts'
import { directionOf, latencyMsOf, type Peer } from './peer.ts'
import { scoreBar } from './scoreBar.ts'
import { causes, consequences } from './scoreReasons.ts'

const POLL_MS = 2_000
/** Number of latest events of its history. */
const SHOWN_EVENTS = 30

interface Facts {
  report: PeerScoreReport
  events: readonly PeerEvent[]
}

/** The details of one peer, in a sheet over the page. */
export class PeerSheet {
  private readonly page: Page
  private readonly dialog: HTMLDialogElement
  private readonly buttons = el('div', { class: 'sheet-actions' })
  private readonly content = el('div', { class: 'sheet-body' })
  private timer = 0
  private shown: Facts | undefined

  constructor(page: Page) {
    this.page = page
    this.dialog = sheetDialog('peer', () => {
      const { peer } = page
      this.forget()
      if (peer !== undefined) page.openPeer(undefined)
    })
    // The width of the score's bar depends on the window.
    addEventListener('resize', () => {
      if (page.peer !== undefined && this.shown !== undefined) this.fill(page.peer, this.shown)
    })
  }

  /** Undefined closes the sheet. */
  show(peerId: string | undefined): void {
    if (peerId === this.page.peer) return
    if (peerId === undefined) {
      this.forget()
      this.dialog.close()
    } else this.open(peerId)
  }

  private forget(): void {
    clearInterval(this.timer)
    this.page.peer = undefined
    this.shown = undefined
  }

  private open(peerId: string): void {
    this.page.peer = peerId
    this.shown = undefined
    const title = el('h2', { id: 'peer-name' }, nodeNameOf(this.page, peerId) ?? 'Peer')
    this.dialog.replaceChildren(
      sheetHead(this.dialog, title, idText(peerId, 'the peer id')),
      this.buttons,
      this.content,
    )
    replaceIfChanged(this.buttons, `${peerId} opening`, () => [])
    replaceIfChanged(this.content, `${peerId} opening`, () => [emptyText('Loading…')])
    if (!this.dialog.open) this.dialog.showModal()
    this.content.scrollTop = 0
    clearInterval(this.timer)
    this.timer = window.setInterval(() => void this.poll(peerId), POLL_MS)
    void this.poll(peerId)
  }

  private async poll(peerId: string): Promise<void> {
    const { node } = this.page
    let facts: Facts | undefined
    try {
      const [reports, histories] = await Promise.all([
        node.connection.call<PeerScoreReport[] | PeerScoreReport>('deviump2p_peerScore', [peerId]),
        node.connection.call<PeerHistory[] | PeerHistory>('deviump2p_peerHistory', [peerId]),
      ])
      const [report] = [reports].flat()
      const [history] = [histories].flat()
      if (report !== undefined) facts = { report, events: history?.events ?? [] }
    } catch (error) {
      if (this.page.peer !== peerId) return
      replaceIfChanged(this.content, messageOf(error), () => [failedText(error)])
      return
    }
    if (facts === undefined || this.page.peer !== peerId) return
    this.fill(peerId, facts)
  }

  private fill(peerId: string, facts: Facts): void {
    const { page } = this
    this.shown = facts
    const { report, events } = facts
    const actions: PeerAction[] = [
      report.blocked || report.ban !== null ? PEER_ACTIONS.unblock : PEER_ACTIONS.block,
      report.protected ? PEER_ACTIONS.unprotect : PEER_ACTIONS.protect,
      ...(report.connected ? [PEER_ACTIONS.disconnect] : []),
    ].filter((action) => !(report.static && action === PEER_ACTIONS.unprotect))
    const { refusesChanges } = page.node
    replaceIfChanged(this.buttons, `${peerId} ${refusesChanges} ${actions.map(({ method }) => method).join()}`, () =>
      refusesChanges
        ? [el('p', { class: 'quiet' }, NO_CHANGES)]
        : actions.map((action) => {
            const act = () => carryOut(page.node, action, peerId, peerName(page, peerId)).then(() => this.poll(peerId))
            return button(action.label, () => void act(), action.danger ? 'button danger' : 'button')
          }),
    )
    const peer = page.node.peers.get(peerId)
    const now = Date.now()
    const minute = Math.floor(now / 5_000)
    replaceIfChanged(this.content, JSON.stringify([report, events, peer, this.barWidth, minute]), () => [
      this.standing(report, peer),
      el('p', { class: 'facts quiet' }, peer?.facts?.userAgent),
      ...(peer?.facts?.addresses ?? []).slice(0, 2).map((address) => idText(address, 'the address')),
      el('h3', {}, 'Score'),
      scoreBar(report, this.barWidth),
      termTable(report),
      ...list(
        'Causes',
        causes(report, now, (id) => peerName(page, id)),
      ),
      ...list('Consequences', consequences(report)),
      ...list('Advice', report.advice),
      el('h3', {}, 'History'),
      historyTable(events),
    ])
  }

  /** The width of the sheet's body. */
  private get barWidth(): number {
    const { paddingLeft, paddingRight } = getComputedStyle(this.content)
    return this.content.clientWidth - Number.parseFloat(paddingLeft) - Number.parseFloat(paddingRight)
  }

  private standing(report: PeerScoreReport, peer: Peer | undefined): HTMLElement {
    const { ban, blocked, connected } = report
    const latencyMs = peer === undefined ? undefined : latencyMsOf(peer)
    const tone = ban !== null || blocked ? 'bad' : report.total < 0 ? 'warned' : 'good'
    const traits = [
      connected ? 'connected' : 'not connected',
      connected && peer?.connected ? directionOf(peer) : '',
      connected && latencyMs !== undefined ? duration(latencyMs) : '',
      report.static ? 'static' : '',
      report.protected && !report.static ? 'protected' : '',
      report.topics.parts.some(({ inMesh }) => inMesh) ? 'in the mesh' : '',
      blocked ? 'blocked' : '',
    ].filter((trait) => trait !== '')
    return el(
      'div',
      { class: 'standing', 'data-tone': tone },
      el('span', { class: 'figure large' }, formatNumber(report.total)),
      el(
        'div',
        {},
        el('p', {}, report.total === 0 ? 'No score term applies.' : `Main reason: ${report.mainReason}`),
        el('p', { class: 'quiet' }, traits.join(' · ')),
        connected || peer?.away === undefined ? null : el('p', { class: 'away' }, sentence(peer.away)),
        ban === null
          ? null
          : el(
              'p',
              { class: 'ban' },
              `Banned for ${duration(ban.remainingS * 1_000)} more, until ${clockTime(ban.untilMs)}: ${ban.reason}`,
            ),
      ),
    )
  }
}

function list(title: string, lines: readonly string[]): Child[] {
  if (lines.length === 0) return []
  return [el('h3', {}, title), el('ul', { class: 'lines' }, ...lines.map((line) => el('li', {}, sentence(line))))]
}

function termTable(report: PeerScoreReport): HTMLElement {
  const rows = scoreRows(report)
  if (rows.length === 0) return emptyText('No score term applies.')
  const sum = tableRow('Total', '', numberCell('td', formatNumber(report.total)))
  sum.className = 'sum'
  return table(
    { class: 'terms', caption: 'Terms of the score' },
    ['Term', 'Count × weight', numberCell('th', 'Points')],
    [
      ...rows.map(({ name, count, weight, score }, index) =>
        tableRow(
          el('td', {}, el('span', { class: `swatch term ${score < 0 ? 'bad' : 'good'} shade-${index % 4}` }), name),
          el('td', { class: 'quiet' }, count === '' ? '' : `${count} × ${weight}`),
          numberCell('td', formatNumber(score)),
        ),
      ),
      sum,
    ],
  )
}

function historyTable(events: readonly PeerEvent[]): HTMLElement {
  if (events.length === 0) return emptyText('No recorded events.')
  const shown = events.slice(-SHOWN_EVENTS).reverse()
  return table(
    { class: 'history', caption: 'History of the peer, newest first' },
    ['Time', 'Event', numberCell('th', 'Score then')],
    shown.map((event) =>
      tableRow(
        el('td', { class: 'quiet' }, clockTime(event.lastMs)),
        el('td', { class: `kind ${event.kind}` }, eventText(event)),
        numberCell('td', formatNumber(event.score)),
      ),
    ),
  )
}
