import { requestToken } from './actions.ts'
import { byId, el, replaceIfChanged, setText } from './dom.ts'
import { countOf } from './format.ts'
import type { NodeState } from './nodeState.ts'
import { type Page, withNames } from './page.ts'
import { button } from './parts.ts'
import { statusOf, type Tone } from './statusSentence.ts'

const MARKS: Record<Tone, string> = { good: '✓', warned: '!', bad: '✕', unknown: '?' }
const WORDS: Record<Tone, string> = { good: 'Healthy', warned: 'Degraded', bad: 'Stopped', unknown: 'Unknown' }

/** A sign whose shape has the meaning of its colour. */
function toneMark(tone: Tone): HTMLElement {
  return el('span', { class: `mark ${tone}`, role: 'img', 'aria-label': WORDS[tone] }, MARKS[tone])
}

let announced = ''

export function showStatus(page: Page, nowMs: number): void {
  const { node } = page
  const status = statusOf(node, nowMs)
  const title = byId('sentence')
  setText(title, withNames(page, status.text))
  title.parentElement?.setAttribute('data-tone', status.tone)
  const command = byId('command')
  setText(command, status.command ?? '')
  command.hidden = status.command === undefined
  document.title = `${status.tone === 'bad' || status.tone === 'warned' ? '● ' : ''}${node.name} – devium`
  replaceIfChanged(byId('parts'), JSON.stringify(status.parts), () =>
    status.parts.map(({ label, tone, text, command: ends }) =>
      el(
        'li',
        { class: 'part', 'data-tone': tone },
        toneMark(tone),
        el(
          'div',
          {},
          el('h3', {}, label),
          el('p', {}, withNames(page, text)),
          ends === undefined ? null : el('code', { class: 'command' }, ends),
        ),
      ),
    ),
  )
  // Screen readers announce changes, but not every block.
  const key = `${node.name} ${status.tone} ${status.parts.map(({ tone }) => tone).join(' ')}`
  if (key !== announced) {
    announced = key
    setText(byId('announcement'), status.text)
  }
  const offersToken = node.connectionState === 'unreachable'
  replaceIfChanged(byId('status-action'), String(offersToken), () =>
    offersToken ? [button('Enter a token', () => void requestToken(node))] : [],
  )
}

/** One button for each node, if there are several. */
export function showNodes(
  nodes: readonly NodeState[],
  chosen: NodeState,
  nowMs: number,
  choose: (node: NodeState) => void,
): void {
  const list = byId('nodes')
  list.hidden = nodes.length < 2
  if (list.hidden) return
  if (list.childElementCount === 0) {
    for (const node of nodes) {
      list.append(
        el(
          'button',
          { type: 'button', class: 'node', onclick: () => choose(node) },
          el('span', { class: 'node-mark' }),
          el('span', { class: 'node-name' }, node.name),
          el('span', { class: 'node-facts quiet' }),
        ),
      )
    }
  }
  for (const [index, node] of nodes.entries()) {
    const button = list.children[index]
    if (button === undefined) continue
    const { tone } = statusOf(node, nowMs)
    button.setAttribute('aria-current', node === chosen ? 'true' : 'false')
    const mark = button.querySelector('.node-mark')
    if (mark !== null) replaceIfChanged(mark, tone, () => [toneMark(tone)])
    const facts = button.querySelector('.node-facts')
    if (facts !== null) setText(facts, node.connectionState === 'open' ? nodeFacts(node) : 'no answer')
  }
}

function nodeFacts({ heads, peers }: NodeState): string {
  const connected = [...peers.values()].filter((peer) => peer.connected).length
  return `block ${heads?.unsafe_l2.number ?? '–'} · ${countOf(connected, 'peer')}`
}
