import { plainText, wrapText } from '../../../shared/table.ts'
import type { Line, Span, Style } from '../../../shared/terminal/styledLine.ts'
import { type CheckOutcome, type CheckReport, type CheckStep, formatMs } from './steps.ts'

const SIGNS: Readonly<Record<CheckOutcome, string>> = { ok: '✓', failed: '✗', warning: '!', skipped: '–' }
const STYLES: Readonly<Record<CheckOutcome, Style>> = { ok: 'good', failed: 'bad', warning: 'notable', skipped: 'grey' }

const WIDTH = 80
/** The longest name is `connection`. */
const NAME_WIDTH = 10
const INDENT = 2 + NAME_WIDTH + 2
/** If less space than this remains in the line, the duration gets its own line. */
const TIME_GAP = 2

/** One step: sign, name, result and duration, and the hint below. */
export function stepLines({ step, outcome, text, tookMs, hint }: CheckStep): Line[] {
  const texts = wrap(text, WIDTH - INDENT)
  const start: Span[] = [{ text: SIGNS[outcome], style: STYLES[outcome] }, ` ${step.padEnd(NAME_WIDTH)}  `]
  const lines = texts.map((line, index): Span[] => [...(index === 0 ? start : [' '.repeat(INDENT)]), line])
  if (tookMs !== undefined) {
    const time: Span = { text: formatMs(tookMs), style: 'grey' }
    const gap = WIDTH - INDENT - (texts.at(-1) ?? '').length - time.text.length
    if (gap >= TIME_GAP) lines.at(-1)?.push(' '.repeat(gap), time)
    else lines.push([' '.repeat(WIDTH - time.text.length), time])
  }
  const hints = hint === undefined ? [] : wrap(hint, WIDTH - INDENT - 2)
  return [...lines, ...hints.map((line, index) => `${' '.repeat(INDENT)}${index === 0 ? '→' : ' '} ${line}`)]
}

export function reportLines({ ok, verdict }: CheckReport): Line[] {
  const outcome = ok ? 'ok' : 'failed'
  return wrap(verdict, WIDTH - 2).map((line, index) => {
    return [{ text: `${index === 0 ? SIGNS[outcome] : ' '} ${line}`, style: STYLES[outcome] }]
  })
}

/** A word longer than the line (an address) is not broken, so that it can be copied. */
function wrap(text: string, width: number): string[] {
  return wrapText(plainText(text), width, 0).split('\n')
}
