import { expect, it } from 'vitest'
import { ProgressLine, progressText } from './progressLine.ts'

const STATE = {
  what: 'Importing blocks',
  unit: 'blocks',
  done: 12_345,
  total: 50_000,
  fraction: 0.2469,
  perSecond: 1_234.4,
  secondsLeft: 30.5,
  fields: {},
}

it('shows progress, rate and remaining time', () => {
  expect(progressText(STATE)).toBe('Importing blocks: 24 %, 31 s left, 12,345 of 50,000 blocks, 1,234 a second')
  const unknown = { ...STATE, total: undefined, fraction: undefined, secondsLeft: undefined, perSecond: 2 }
  expect(progressText(unknown)).toBe('Importing blocks: 12,345 blocks, 2.0 a second')
})

it('rewrites its line below permanent lines, and removes it', () => {
  let written = ''
  const line = new ProgressLine({ columns: 24, write: (text: string) => (written += text) })
  line.write('before\n')
  line.show(STATE)
  expect(written).toBe('before\n\r\x1b[KImporting blocks: 24 %,')
  written = ''
  line.write('a log line\n')
  expect(written).toBe('\r\x1b[Ka log line\nImporting blocks: 24 %,')
  written = ''
  line.end()
  line.end()
  line.write('after\n')
  expect(written).toBe('\r\x1b[Kafter\n')
})
