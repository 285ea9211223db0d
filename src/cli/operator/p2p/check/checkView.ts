import { plainText, wrapText } from '../../../shared/table.ts'
import type { CheckOutcome, CheckReport, CheckStep } from './steps.ts'
import { formatMs } from './steps.ts'

const SIGNS: Readonly<Record<CheckOutcome, string>> = { ok: '✓', failed: '✗', warning: '!', skipped: '–' }
/** ANSI colours: green, red, yellow, grey. */
const COLOURS: Readonly<Record<CheckOutcome, number>> = { ok: 32, failed: 31, warning: 33, skipped: 90 }

const WIDTH = 80
/** The longest name is `connection`. */
const NAME_WIDTH = 10
const INDENT = 2 + NAME_WIDTH + 2
/** If less space than this remains in the line, the duration gets its own line. */
const TIME_GAP = 2

/** Formats one step: sign, name, result and duration, and the hint below. */
export function formatStep(step: CheckStep, isColoured: boolean): string {
  const sign = paint(SIGNS[step.outcome], COLOURS[step.outcome], isColoured)
  const lines = wrap(step.text, WIDTH - INDENT)
  const last = lines.at(-1) ?? ''
  const time = step.tookMs === undefined ? '' : formatMs(step.tookMs)
  if (time !== '' && INDENT + last.length + TIME_GAP + time.length <= WIDTH) {
    const gap = ' '.repeat(WIDTH - INDENT - last.length - time.length)
    lines[lines.length - 1] = last + gap + paint(time, COLOURS.skipped, isColoured)
  } else if (time !== '') lines.push(paint(time.padStart(WIDTH - INDENT), COLOURS.skipped, isColoured))
  const hint = step.hint === undefined ? [] : wrap(step.hint, WIDTH - INDENT - 2)
  return [
    ...lines.map((line, index) => (index === 0 ? `${sign} ${step.step.padEnd(NAME_WIDTH)}  ${line}` : indent(line))),
    ...hint.map((line, index) => indent(`${index === 0 ? '→' : ' '} ${line}`)),
  ].join('\n')
}

export function formatVerdict({ ok, verdict }: CheckReport, isColoured: boolean): string {
  const outcome = ok ? 'ok' : 'failed'
  const [first = '', ...rest] = wrap(verdict, WIDTH - 2)
  return [`${SIGNS[outcome]} ${first}`, ...rest.map((line) => `  ${line}`)]
    .map((line) => paint(line, COLOURS[outcome], isColoured))
    .join('\n')
}

function indent(line: string): string {
  return ' '.repeat(INDENT) + line
}

function paint(text: string, colour: number, isColoured: boolean): string {
  return isColoured ? `\u001b[${colour}m${text}\u001b[0m` : text
}

/** A word longer than the line (an address) is not broken, so that it can be copied. */
function wrap(text: string, width: number): string[] {
  return wrapText(plainText(text), width, 0).split('\n')
}
