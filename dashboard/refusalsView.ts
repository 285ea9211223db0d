import { ask, callWithToken, carryOut, NO_CHANGES, PEER_ACTIONS, type PeerAction, toast } from './actions.ts'
import { copyButton } from './copyButton.ts'
import { byId, el, type Keyed, replaceChildrenByKey, replaceIfChanged, setText } from './dom.ts'
import { countOf, duration } from './format.ts'
import { type Page, peerName } from './page.ts'
import { type BlockLists, kindOf, methodFor, parseLists, type Refusal, refusalsOf } from './refusals.ts'

const CONNECT: PeerAction = {
  method: 'deviump2p_connectPeer',
  label: 'Connect',
  explains: 'This node dials the peer now, once.',
  done: 'is connected',
}
const MAX_FILE_BYTES = 2_000_000

/** Who may not connect, with what changes that. */
export function showRefusals(page: Page): void {
  const { node } = page
  const { blockLists, bans } = node
  const refusals = refusalsOf(blockLists, bans)
  setText(byId('refusals-title'), refusals.length === 0 ? 'Refused' : `Refused (${refusals.length})`)
  replaceIfChanged(byId('refusals-forms'), `${node.name} ${node.refusesChanges}`, () =>
    node.refusesChanges ? [el('p', { class: 'quiet' }, NO_CHANGES)] : forms(page),
  )
  const now = Date.now()
  replaceIfChanged(byId('refusals'), refusals.length === 0 ? 'none' : 'some', () => [
    refusals.length === 0
      ? el('p', { class: 'empty' }, 'Nobody is banned or blocked.')
      : el(
          'table',
          { class: 'plain refusals' },
          el('caption', { class: 'hidden-text' }, 'Who may not connect'),
          el(
            'thead',
            {},
            el('tr', {}, ...['Who', 'What', 'Why', 'Set by', 'Left', ''].map((head) => el('th', {}, head))),
          ),
          el('tbody'),
        ),
  ])
  const body = byId('refusals').querySelector('tbody')
  if (body === null) return
  replaceChildrenByKey(
    body,
    refusals.map((refusal): Keyed => {
      const left = refusal.untilMs === null ? 'until unblocked' : duration(Math.max(0, refusal.untilMs - now))
      const name = refusal.kind === 'peer' ? peerName(page, refusal.subject) : refusal.subject
      const key = JSON.stringify([node.name, node.refusesChanges, refusal, left, name])
      return { key, make: () => row(page, refusal, name, left) }
    }),
  )
}

function row(page: Page, { subject, kind, reason, by }: Refusal, name: string, left: string): HTMLElement {
  const { node } = page
  const action = { ...PEER_ACTIONS.unblock, method: methodFor('unblock', kind), label: 'Let in' }
  const who =
    kind === 'peer'
      ? el('button', { type: 'button', class: 'link', title: subject, onclick: () => page.openPeer(subject) }, name)
      : el('span', {}, subject)
  const letIn = el(
    'button',
    {
      ...{ type: 'button', class: 'button small', 'aria-label': `Let ${name} in` },
      onclick: () => void carryOut(node, action, subject, name),
    },
    'Let in',
  )
  return el(
    'tr',
    { 'data-refused': subject },
    el('td', {}, who, copyButton(subject, `the ${kind} ${name}`)),
    ...[kind, reason, by, left].map((text) => el('td', {}, text)),
    el('td', { class: 'number' }, node.refusesChanges ? null : letIn),
  )
}

function forms(page: Page): HTMLElement[] {
  const { node } = page
  const block = form('Block', 'Peer id, IP or subnet', (subject) => {
    const action = { ...PEER_ACTIONS.block, method: methodFor('block', kindOf(subject)) }
    return carryOut(node, action, subject, peerName(page, subject))
  })
  const connect = form('Connect', '/ip4/…/tcp/…/p2p/…', (address) => carryOut(node, CONNECT, address, address))
  const file = el('input', { type: 'file', id: 'import-lists' })
  file.accept = '.json,application/json'
  file.hidden = true
  file.addEventListener('change', () => {
    const [chosen] = file.files ?? []
    if (chosen !== undefined) void importLists(page, chosen)
    file.value = ''
  })
  const button = (label: string, onclick: () => void) =>
    el('button', { type: 'button', class: 'button', onclick }, label)
  const lists = el(
    'div',
    { class: 'refusals-files' },
    button('Export', () => exportLists(node.blockLists, node.name)),
    button('Import', () => file.click()),
    file,
  )
  return [block, connect, lists]
}

function form(label: string, placeholder: string, submit: (text: string) => Promise<void>): HTMLElement {
  const input = el('input', { type: 'text', 'aria-label': `${label}: ${placeholder}` })
  input.placeholder = placeholder
  input.autocomplete = 'off'
  input.spellcheck = false
  const made = el('form', { class: 'one-line' }, input, el('button', { type: 'submit', class: 'button' }, label))
  made.addEventListener('submit', (event) => {
    event.preventDefault()
    const text = input.value.trim()
    if (text !== '') void submit(text).then(() => (input.value = ''))
  })
  return made
}

function exportLists(lists: BlockLists, name: string): void {
  const href = URL.createObjectURL(new Blob([`${JSON.stringify(lists, null, 2)}\n`], { type: 'application/json' }))
  const link = el('a', { href })
  link.download = `${name}-blocks.json`
  link.click()
  URL.revokeObjectURL(href)
}

async function importLists({ node }: Page, file: File): Promise<void> {
  try {
    if (file.size > MAX_FILE_BYTES) throw new RangeError('it is too large')
    const { peers, addresses, subnets } = parseLists(await file.text())
    const counts = [countOf(peers.length, 'peer'), countOf(addresses.length, 'IP'), countOf(subnets.length, 'subnet')]
    const explains = el('p', {}, 'Their connections are closed, and they are refused from now on.')
    const answer = await ask(`Block ${counts.join(', ')}?`, [explains], { confirm: 'Block', danger: true })
    if (answer === undefined) return
    for (const subject of [...peers, ...addresses, ...subnets]) {
      await callWithToken(node, methodFor('block', kindOf(subject)), [subject])
    }
    toast(`${counts.join(', ')} are blocked.`)
  } catch (error) {
    toast(`The import of ${file.name} did not work: ${error instanceof Error ? error.message : String(error)}`, 'bad')
  }
  await node.refreshPeers()
}
