import { shortHash } from '../src/lib/shortIds.ts'
import type { BlockDetails } from './answers.ts'
import { copyButton } from './copyButton.ts'
import { byId, type Child, el } from './dom.ts'
import { ago, count, countOf, ether, sentence } from './format.ts'
import type { Page } from './page.ts'

const TYPES: Record<number, string> = { 126: 'deposit', 125: 'post-exec', 0: 'legacy', 1: 'access list', 4: 'set code' }

/** The details of one block, in a sheet over the page. */
export class BlockSheet {
  private readonly page: Page
  private readonly dialog = byId('block-sheet') as HTMLDialogElement
  private shown: string | undefined

  constructor(page: Page) {
    this.page = page
    this.dialog.addEventListener('close', () => {
      const { shown } = this
      this.shown = undefined
      if (shown !== undefined) page.openBlock(undefined)
    })
    this.dialog.addEventListener('click', ({ target }) => {
      if (target === this.dialog) this.dialog.close()
    })
  }

  /** Undefined closes the sheet. */
  show(hash: string | undefined): void {
    if (hash === this.shown) return
    this.shown = hash
    if (hash === undefined) this.dialog.close()
    else {
      this.fill(hash, undefined, [el('p', { class: 'empty' }, 'Loading…')])
      if (!this.dialog.open) this.dialog.showModal()
      void this.load(hash)
    }
  }

  private async load(hash: string): Promise<void> {
    const { node } = this.page
    try {
      await node.opened
      const details = await node.connection.call<BlockDetails | null>('devium_describeBlock', [hash])
      if (this.shown !== hash) return
      if (details === null)
        this.fill(hash, undefined, [el('p', { class: 'empty' }, 'This node does not have this block.')])
      else this.fill(hash, details.number, parts(details, Date.now()))
    } catch (error) {
      if (this.shown !== hash) return
      const text = error instanceof Error ? error.message : String(error)
      this.fill(hash, undefined, [el('p', { class: 'empty' }, sentence(`the request failed: ${text}`))])
    }
  }

  private fill(hash: string, number: number | undefined, content: Child[]): void {
    const body = el('div', { class: 'sheet-body' })
    body.append(...content.filter((child) => child instanceof Node))
    this.dialog.replaceChildren(
      el(
        'div',
        { class: 'sheet-head' },
        el(
          'div',
          {},
          el('h2', { id: 'block-title' }, number === undefined ? 'Block' : `Block ${number}`),
          el('p', { class: 'id' }, hash, copyButton(hash, 'the block hash')),
        ),
        el(
          'button',
          { type: 'button', class: 'icon-button', 'aria-label': 'Close', onclick: () => this.dialog.close() },
          '✕',
        ),
      ),
      body,
    )
  }
}

function parts(block: BlockDetails, nowMs: number): Child[] {
  const { safeBy, batchTransactions, transactions, transactionCount } = block
  const share = block.gasLimit === 0 ? 0 : Math.round((100 * block.gasUsed) / block.gasLimit)
  return [
    el('h3', {}, 'Header'),
    list([
      [
        'Time',
        `${new Date(block.timestamp * 1_000).toISOString().slice(0, 19).replace('T', ' ')} UTC, ${ago(nowMs, block.timestamp * 1_000)}`,
      ],
      ['Parent', whole(block.parentHash, 'the parent hash')],
      ['State root', whole(block.stateRoot, 'the state root')],
      ['Gas', `${count(block.gasUsed)} of ${count(block.gasLimit)} (${share} %)`],
      ['Base fee', `${count(Number(block.baseFeePerGas))} wei`],
      ['Fee recipient', whole(block.feeRecipient, 'the fee recipient')],
    ]),
    el('h3', {}, 'Batch'),
    safeBy === null
      ? el('p', { class: 'empty' }, 'The block is not safe yet, or it became safe before this node started.')
      : list([
          ['Derived from', `L1 block ${safeBy.number}`],
          ['L1 hash', whole(safeBy.hash, 'the L1 hash')],
          ...batchTransactions.map((hash): [string, Child] => ['Posted by', whole(hash, 'the L1 transaction')]),
        ]),
    el('h3', {}, countOf(transactionCount, 'transaction')),
    el(
      'div',
      { class: 'scrolls' },
      el(
        'table',
        { class: 'plain transactions' },
        el('thead', {}, el('tr', {}, ...['Hash', 'Type', 'From', 'To', 'Ether'].map((head) => el('th', {}, head)))),
        el(
          'tbody',
          {},
          ...transactions.map(({ hash, type, from, to, value }) =>
            el(
              'tr',
              {},
              el('td', {}, short(hash, 'the transaction hash')),
              el('td', {}, TYPES[type] ?? 'call'),
              el('td', {}, short(from, 'the sender')),
              el('td', {}, to === null ? 'new contract' : short(to, 'the recipient')),
              el('td', { class: 'number' }, ether(value)),
            ),
          ),
        ),
      ),
    ),
    transactions.length < transactionCount
      ? el('p', { class: 'empty' }, `The first ${transactions.length} of ${count(transactionCount)}.`)
      : null,
  ]
}

function list(rows: readonly [string, Child][]): HTMLElement {
  return el(
    'dl',
    { class: 'facts-list' },
    ...rows.flatMap(([name, value]) => [el('dt', {}, name), el('dd', {}, value)]),
  )
}

function whole(text: string, what: string): HTMLElement {
  return el('span', { class: 'id' }, text, copyButton(text, what))
}

function short(text: string, what: string): HTMLElement {
  return el('span', { class: 'id', title: text }, shortHash(text), copyButton(text, what))
}
