import { describe, expect, it } from 'vitest'
import { type Line, paintLine } from '../../../shared/terminal/styledLine.ts'
import { reportLines, stepLines } from './checkView.ts'
import type { CheckReport, CheckStep } from './steps.ts'

const PEER = '16Uiu2HAm7y9oecxCZUMduLgP2vdBRgeUKRkSnYUd7yR2UNrn5YYc'
const REPORT: CheckReport = {
  target: 'x',
  peerId: null,
  expectedChainId: null,
  ok: false,
  failedAt: 'tcp',
  verdict: 'failed at tcp: 10.0.0.1:9222 does not answer',
  steps: [],
}

const printed = (lines: readonly Line[], isColoured = false): string =>
  lines.map((line) => paintLine(line, { isColoured })).join('\n')

describe('stepLines', () => {
  it('aligns the duration to the right, and puts the hint below', () => {
    const step: CheckStep = { step: 'tcp', outcome: 'failed', text: 'no answer', hint: 'a firewall', tookMs: 10_004 }
    expect(printed(stepLines(step))).toBe(`✗ tcp         no answer${' '.repeat(51)}10.0 s\n              → a firewall`)
  })

  it('shows a sign for each outcome', () => {
    const signs = (['ok', 'failed', 'warning', 'skipped'] as const).map(
      (outcome) => printed(stepLines({ step: 'udp', outcome, text: 'x' }))[0],
    )
    expect(signs).toEqual(['✓', '✗', '!', '–'])
  })

  it('fits 80 columns, except for words to be copied', () => {
    const words = Array.from({ length: 60 }, (_, index) => `word${index}`).join(' ')
    const text = printed(stepLines({ step: 'connection', outcome: 'ok', text: words, hint: words, tookMs: 5 }))
    for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(80)
    const address = `/ip4/127.0.0.1/tcp/9222/p2p/${PEER}${PEER}`
    expect(printed(stepLines({ step: 'peer id', outcome: 'failed', text: 'x', hint: `use ${address}` }))).toContain(
      `\n                ${address}`,
    )
  })

  it('removes control sequences', () => {
    const step: CheckStep = { step: 'tcp', outcome: 'ok', text: 'a\u001b[2Jb\nc', hint: '\u0007' }
    expect(printed(stepLines(step))).toBe('✓ tcp         a?[2Jb?c\n              → ?')
  })

  it('uses colours only on request', () => {
    const step: CheckStep = { step: 'tcp', outcome: 'failed', text: 'no answer' }
    expect(printed(stepLines(step), true)).toBe('\u001b[31m✗\u001b[0m tcp         no answer')
  })
})

describe('reportLines', () => {
  it('has the colour of its outcome', () => {
    expect(printed(reportLines(REPORT))).toBe('✗ failed at tcp: 10.0.0.1:9222 does not answer')
    expect(printed(reportLines({ ...REPORT, ok: true, verdict: 'reachable' }), true)).toBe(
      '\u001b[32m✓ reachable\u001b[0m',
    )
  })
})
