import { shortHash } from '../src/lib/shortIds.ts'
import type { BlockDetails } from './answers.ts'
import { copyButton } from './copyButton.ts'
import { type Child, el } from './dom.ts'
import { ago, count, countOf, ether } from './format.ts'
import type { Page } from './page.ts'
import {
  emptyText,
  factsList,
  failedText,
  idText,
  numberCell,
  sheetDialog,
  sheetHead,
  table,
  tableRow,
} from './parts.ts'

const TYPES: Record<number, string> = { 126: 'deposit', 125: 'post-exec', 0: 'legacy', 1: 'access list', 4: 'set code' }

/** The details of one block, in a sheet over the page. */
export class BlockSheet {
  private readonly page: Page
  private readonly dialog: HTMLDialogElement
  private shown: string | undefined

  constructor(page: Page) {
    this.page = page
    this.dialog = sheetDialog('block-sheet', () => {
      const { shown } = this
      this.shown = undefined
      if (shown !== undefined) page.openBlock(undefined)
    })
  }

  /** Undefined closes the sheet. */
  show(hash: string | undefined): void {
    if (hash === this.shown) return
    this.shown = hash
    if (hash === undefined) this.dialog.close()
    else {
      this.fill(hash, 'Block', [emptyText('Loading…')])
      if (!this.dialog.open) this.dialog.showModal()
      void this.load(hash)
    }
  }

  private async load(hash: string): Promise<void> {
    const { node } = this.page
    let title = 'Block'
    let content: Child[]
    try {
      await node.opened
      const details = await node.connection.call<BlockDetails | null>('devium_describeBlock', [hash])
      if (details === null) content = [emptyText('This node does not have this block.')]
      else {
        title = `Block ${details.number}`
        content = parts(details, Date.now())
      }
    } catch (error) {
      content = [failedText(error)]
    }
    if (this.shown === hash) this.fill(hash, title, content)
  }

  private fill(hash: string, title: string, content: Child[]): void {
    this.dialog.replaceChildren(
      sheetHead(this.dialog, el('h2', { id: 'block-title' }, title), idText(hash, 'the block hash')),
      el('div', { class: 'sheet-body' }, ...content),
    )
  }
}

function parts(block: BlockDetails, nowMs: number): Child[] {
  const { safeBy, batchTransactions, transactions, transactionCount } = block
  const share = block.gasLimit === 0 ? 0 : Math.round((100 * block.gasUsed) / block.gasLimit)
  const timeMs = block.timestamp * 1_000
  return [
    el('h3', {}, 'Header'),
    factsList([
      ['Time', `${new Date(timeMs).toISOString().slice(0, 19).replace('T', ' ')} UTC, ${ago(nowMs, timeMs)}`],
      ['Parent', idText(block.parentHash, 'the parent hash', 'span')],
      ['State root', idText(block.stateRoot, 'the state root', 'span')],
      ['Gas', `${count(block.gasUsed)} of ${count(block.gasLimit)} (${share} %)`],
      ['Base fee', `${count(Number(block.baseFeePerGas))} wei`],
      ['Fee recipient', idText(block.feeRecipient, 'the fee recipient', 'span')],
    ]),
    el('h3', {}, 'Batch'),
    safeBy === null
      ? emptyText('The block is not safe yet, or it became safe before this node started.')
      : factsList([
          ['Derived from', `L1 block ${safeBy.number}`],
          ['L1 hash', idText(safeBy.hash, 'the L1 hash', 'span')],
          ...batchTransactions.map((hash) => ['Posted by', idText(hash, 'the L1 transaction', 'span')] as const),
        ]),
    el('h3', {}, countOf(transactionCount, 'transaction')),
    el(
      'div',
      { class: 'scrolls' },
      table(
        { class: 'plain transactions' },
        ['Hash', 'Type', 'From', 'To', 'Ether'],
        transactions.map(({ hash, type, from, to, value }) =>
          tableRow(
            short(hash, 'the transaction hash'),
            TYPES[type] ?? 'call',
            short(from, 'the sender'),
            to === null ? 'new contract' : short(to, 'the recipient'),
            numberCell('td', ether(value)),
          ),
        ),
      ),
    ),
    transactions.length < transactionCount
      ? emptyText(`The first ${transactions.length} of ${count(transactionCount)}.`)
      : null,
  ]
}

function short(text: string, what: string): HTMLElement {
  return el('span', { class: 'id', title: text }, shortHash(text), copyButton(text, what))
}
