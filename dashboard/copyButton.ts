import { toast } from './actions.ts'
import { el, svg } from './dom.ts'

/** Copies a text to the clipboard. `what` names the text, as in `the peer id`. */
export function copyButton(text: string, what: string): HTMLElement {
  const icon = svg(
    'svg',
    { viewBox: '0 0 16 16', width: 14, height: 14, 'aria-hidden': 'true' },
    svg('path', {
      d: 'M5.5 5.5h7v8h-7zM3.5 10.5v-8h7',
      fill: 'none',
      stroke: 'currentColor',
      'stroke-width': 1.4,
    }),
  )
  const label = `Copy ${what}`
  return el(
    'button',
    { type: 'button', class: 'copy', title: label, 'aria-label': label, onclick: () => void copy(text, what) },
    icon,
  )
}

async function copy(text: string, what: string): Promise<void> {
  try {
    // Browsers offer the clipboard only to local pages and by https.
    if (navigator.clipboard === undefined) copySelected(text)
    else await navigator.clipboard.writeText(text)
    toast(`Copied ${what}.`)
  } catch {
    toast(`The browser refused to copy ${what}.`, 'bad')
  }
}

function copySelected(text: string): void {
  const area = el('textarea')
  area.value = text
  const place = document.querySelector('dialog[open]') ?? document.body
  place.append(area)
  area.select()
  const isCopied = document.execCommand('copy')
  area.remove()
  if (!isCopied) throw new Error('not copied')
}
