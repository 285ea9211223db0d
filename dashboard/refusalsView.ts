import type { AccessRules } from '../src/p2p/base/schemas.ts'
import { ask, callWithToken, carryOut, NO_CHANGES, PEER_ACTIONS, type PeerAction, toast } from './actions.ts'
import { copyButton } from './copyButton.ts'
import { byId, el, replaceIfChanged, setText } from './dom.ts'
import { duration, messageOf } from './format.ts'
import { type Page, peerName } from './page.ts'
import { button, showRows, table } from './parts.ts'
import { parseBlocks, type Refusal, refusalsOf, unblockMethod } from './refusals.ts'

const CONNECT: PeerAction = {
  method: 'deviump2p_connectPeer',
  label: 'Connect',
  explains: 'The node dials the peer once.',
  done: 'is connected',
}
const HEADS = ['Peer or address', 'Kind', 'Reason', 'Set by', 'Remaining', '']
const MAX_FILE_BYTES = 2_000_000

/** Shows bans and blocks, with controls that change them. */
export function showRefusals(page: Page): void {
  const { node } = page
  const { accessRules, bans } = node
  const { allow } = accessRules
  const refusals = refusalsOf(accessRules, bans)
  setText(byId('refusals-title'), refusals.length === 0 ? 'Bans and blocks' : `Bans and blocks (${refusals.length})`)
  replaceIfChanged(byId('refusals-forms'), `${node.name} ${node.refusesChanges}`, () =>
    node.refusesChanges ? [el('p', { class: 'quiet' }, NO_CHANGES)] : forms(page),
  )
  replaceIfChanged(byId('allowed'), JSON.stringify(allow), () =>
    allow === null
      ? []
      : [
          el(
            'p',
            {},
            'Private network: only static peers and these may connect (',
            el('code', {}, '--p2p.allow'),
            '): ',
            allow.map((entry) => peerName(page, entry)).join(', '),
          ),
        ],
  )
  const now = Date.now()
  const rows = refusals.map((refusal) => {
    const left = refusal.untilMs === null ? 'until unblocked' : duration(Math.max(0, refusal.untilMs - now))
    const name = refusal.kind === 'peer' ? peerName(page, refusal.subject) : refusal.subject
    const key = JSON.stringify([node.name, node.refusesChanges, refusal, left, name])
    return { key, make: () => row(page, refusal, name, left) }
  })
  showRows(byId('refusals'), rows, {
    ifEmpty: 'No peer or address is banned or blocked.',
    makeTable: () => table({ class: 'plain refusals', caption: 'Banned and blocked peers and addresses' }, HEADS),
  })
}

function row(page: Page, { subject, kind, reason, by }: Refusal, name: string, left: string): HTMLElement {
  const { node } = page
  const action = { ...PEER_ACTIONS.unblock, method: unblockMethod(kind), label: 'Unblock' }
  const who =
    kind === 'peer'
      ? el('button', { type: 'button', class: 'link', title: subject, onclick: () => page.openPeer(subject) }, name)
      : el('span', {}, subject)
  const unblock = button('Unblock', () => void carryOut(node, action, subject, name), 'button small')
  unblock.ariaLabel = `Unblock ${name}`
  return el(
    'tr',
    { 'data-refused': subject },
    el('td', {}, who, copyButton(subject, `the ${kind} ${name}`)),
    ...[kind, reason, by, left].map((text) => el('td', {}, text)),
    el('td', { class: 'number' }, node.refusesChanges ? null : unblock),
  )
}

function forms(page: Page): HTMLElement[] {
  const { node } = page
  const block = form('Block', 'Peer id, IP or subnet', (subject) => {
    return carryOut(node, PEER_ACTIONS.block, subject, peerName(page, subject))
  })
  const connect = form('Connect', '/ip4/…/tcp/…/p2p/…', (address) => carryOut(node, CONNECT, address, address))
  const file = el('input', { type: 'file', id: 'import-lists' })
  file.accept = '.json,application/json'
  file.hidden = true
  file.addEventListener('change', () => {
    const [chosen] = file.files ?? []
    if (chosen !== undefined) void importBlocks(page, chosen)
    file.value = ''
  })
  const lists = el(
    'div',
    { class: 'refusals-files' },
    button('Export', () => exportBlocks(node.accessRules, node.name)),
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

function exportBlocks({ blocks }: AccessRules, name: string): void {
  const text = `${JSON.stringify({ blocks }, null, 2)}\n`
  const href = URL.createObjectURL(new Blob([text], { type: 'application/json' }))
  const link = el('a', { href })
  link.download = `${name}-blocks.json`
  link.click()
  URL.revokeObjectURL(href)
}

async function importBlocks({ node }: Page, file: File): Promise<void> {
  try {
    if (file.size > MAX_FILE_BYTES) throw new RangeError('the file is too large')
    const blocks = parseBlocks(await file.text())
    const explains = el('p', {}, 'The node closes their connections and refuses them until you unblock them.')
    const what = blocks.length === 1 ? '1 entry' : `${blocks.length} entries`
    const answer = await ask(`Add ${what} of ${file.name}?`, [explains], { confirm: 'Block', danger: true })
    if (answer === undefined) return
    for (const { subject, reason } of blocks) await callWithToken(node, 'deviump2p_block', [subject, reason])
    toast(`${what} of ${file.name} added.`)
  } catch (error) {
    toast(`The import of ${file.name} failed: ${messageOf(error)}`, 'bad')
  }
  await node.refreshPeers()
}
