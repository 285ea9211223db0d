import { copyButton } from './copyButton.ts'
import { byId, type Child, el, type Keyed, replaceChildrenByKey, replaceIfChanged } from './dom.ts'
import { messageOf, sentence } from './format.ts'

/** The elements that several views have. */

export function emptyText(text: string, className = 'empty'): HTMLElement {
  return el('p', { class: className }, text)
}

export function failedText(error: unknown): HTMLElement {
  return emptyText(sentence(`the request failed: ${messageOf(error)}`))
}

export function button(label: string, onclick: () => void, className = 'button'): HTMLButtonElement {
  return el('button', { type: 'button', class: className, onclick }, label)
}

/** A whole id or address, with its copy button. `what` names it. */
export function idText(text: string, what: string, tag: 'p' | 'span' = 'p'): HTMLElement {
  return el(tag, { class: 'id' }, text, copyButton(text, what))
}

export function factsList(rows: readonly (readonly [name: string, value: Child])[]): HTMLElement {
  return el(
    'dl',
    { class: 'facts-list' },
    ...rows.flatMap(([name, value]) => [el('dt', {}, name), el('dd', {}, value)]),
  )
}

/** The caption is for screen readers. A head is a text or a whole cell. */
export function table(
  { class: className, caption }: { class: string; caption?: string },
  heads: readonly Child[],
  rows: readonly HTMLElement[] = [],
): HTMLElement {
  return el(
    'table',
    { class: className },
    caption === undefined ? null : el('caption', { class: 'hidden-text' }, caption),
    el('thead', {}, el('tr', {}, ...cellsOf('th', heads))),
    el('tbody', {}, ...rows),
  )
}

/** A cell is its content or a whole cell. */
export function tableRow(...cells: Child[]): HTMLElement {
  return el('tr', {}, ...cellsOf('td', cells))
}

function cellsOf(tag: 'th' | 'td', contents: readonly Child[]): HTMLElement[] {
  return contents.map((content) => (content instanceof HTMLTableCellElement ? content : el(tag, {}, content)))
}

/** A cell of numbers. */
export function numberCell(tag: 'th' | 'td', content: Child): HTMLElement {
  return el(tag, { class: 'number' }, content)
}

/** Shows the rows in the table that `makeTable` makes, or the text if there are none. */
export function showRows(
  place: HTMLElement,
  rows: readonly Keyed[],
  { ifEmpty, makeTable }: { ifEmpty: string; makeTable: () => HTMLElement },
): void {
  const isEmpty = rows.length === 0
  replaceIfChanged(place, String(isEmpty), () => [isEmpty ? emptyText(ifEmpty) : makeTable()])
  const body = place.querySelector('tbody')
  if (body !== null) replaceChildrenByKey(body, rows)
}

/** A dialog over the page, which a click outside it closes. */
export function sheetDialog(id: string, onClose: () => void): HTMLDialogElement {
  const dialog = byId(id) as HTMLDialogElement
  dialog.addEventListener('close', onClose)
  dialog.addEventListener('click', ({ target }) => {
    if (target === dialog) dialog.close()
  })
  return dialog
}

/** The head of a sheet: its title, the id of its subject, and the button that closes it. */
export function sheetHead(dialog: HTMLDialogElement, title: HTMLElement, id: HTMLElement): HTMLElement {
  const attributes = { type: 'button', class: 'icon-button', 'aria-label': 'Close', onclick: () => dialog.close() }
  return el('div', { class: 'sheet-head' }, el('div', {}, title, id), el('button', attributes, '✕'))
}
