import { expect, it } from 'vitest'
import { ManualClock } from './clock.ts'
import type { LogFields } from './logger.ts'
import { RoutineLines } from './routineLines.ts'

function setUp() {
  const clock = new ManualClock()
  const shown: unknown[] = []
  let hidden = 0
  const logger = {
    info: (message: string, fields?: LogFields) => shown.push({ message, ...fields }),
    debug: () => {
      hidden++
    },
  }
  const lines = new RoutineLines({ clock, logger }, 'Sequenced block')
  return { clock, lines, shown, hidden: () => hidden }
}

it('logs routine lines once a minute, with the number of omitted lines', async () => {
  const { clock, lines, shown, hidden } = setUp()
  for (let number = 0; number <= 120; number++) {
    lines.write({ number }, { isNews: false })
    await clock.advance(1_000)
  }
  expect(shown).toEqual([
    { message: 'Sequenced block', number: 0 },
    { message: 'Sequenced block', number: 60, skipped_lines: 59 },
    { message: 'Sequenced block', number: 120, skipped_lines: 59 },
  ])
  expect(hidden()).toBe(118)
})

it('logs all other lines, which restart the minute', async () => {
  const { clock, lines, shown } = setUp()
  lines.write({ number: 0 }, { isNews: false })
  lines.write({ number: 1 }, { isNews: false })
  await clock.advance(59_000)
  lines.write({ number: 2 }, { isNews: true })
  lines.write({ number: 3 }, { isNews: true })
  await clock.advance(59_000)
  lines.write({ number: 4 }, { isNews: false })
  expect(shown).toEqual([
    { message: 'Sequenced block', number: 0 },
    { message: 'Sequenced block', number: 2, skipped_lines: 1 },
    { message: 'Sequenced block', number: 3 },
  ])
})
