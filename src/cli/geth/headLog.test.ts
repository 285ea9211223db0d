import { expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import { toQuantity } from '../../lib/hex.ts'
import { type Logger, silentLogger } from '../../lib/logger.ts'
import { type HeadMoved, logHeads } from './headLog.ts'

/** A chain whose head the test moves, with the log lines that this causes. */
function followed() {
  const clock = new ManualClock()
  const lines: string[] = []
  const log: Logger['info'] = (message, { number, blocks, gasUsed, dropped } = {}) => {
    lines.push(`${message}: ${number}, ${blocks ?? `dropped ${dropped}`}, ${gasUsed}`)
  }
  const logger: Logger = { ...silentLogger, info: log }
  /** Hashes of blocks with user transactions. */
  const users = new Set<string>()
  let listener: ((change: HeadMoved) => void) | undefined
  const onHead = (given: (change: HeadMoved) => void) => {
    listener = given
    return () => {
      listener = undefined
    }
  }
  const cachedBlock = (hash: string) => ({ transactions: ['L1 info', ...(users.has(hash) ? ['transfer'] : [])] })
  const end = logHeads({ chain: { onHead, cachedBlock }, logger, clock })
  const header = (number: number) => ({ number, hash: toQuantity(number), gasUsed: BigInt(number), timestamp: number })
  const move = (number: number, { removed = [], isEmpty = false }: { removed?: number[]; isEmpty?: boolean } = {}) => {
    if (!isEmpty) users.add(toQuantity(number))
    listener?.({ head: header(number), removed: removed.map(header), added: [header(number)] })
  }
  return { clock, lines, move, end }
}

it('logs each head of a sequencer at once', async () => {
  const { clock, lines, move } = followed()
  for (const number of [1, 2]) {
    move(number)
    expect(lines.at(-1)).toBe(`Chain head advanced: ${number}, 1, ${number}`)
    await clock.advance(1_000)
  }
  expect(lines).toHaveLength(2)
})

it('logs one line for several heads within half a second', async () => {
  const { clock, lines, move } = followed()
  for (const number of [1, 2, 3]) move(number)
  expect(lines).toEqual(['Chain head advanced: 1, 1, 1'])
  await clock.advance(500)
  expect(lines.slice(1)).toEqual(['Chain head advanced: 3, 2, 5'])
  move(4)
  expect(lines).toHaveLength(2)
  await clock.advance(5_000)
  expect(lines.slice(2)).toEqual(['Chain head advanced: 4, 1, 4'])
})

it('logs a reorg at once, after the heads before it', async () => {
  const { clock, lines, move } = followed()
  for (const number of [1, 2]) move(number)
  move(2, { removed: [2] })
  expect(lines).toEqual([
    'Chain head advanced: 1, 1, 1',
    'Chain head advanced: 2, 1, 2',
    'Chain reorganised: 2, dropped 1, 2',
  ])
  move(3)
  await clock.advance(499)
  expect(lines).toHaveLength(3)
  await clock.advance(1)
  expect(lines).toHaveLength(4)
})

it('logs blocks without users once a minute, and every block with users', async () => {
  const { clock, lines, move } = followed()
  for (let number = 1; number <= 61; number++) {
    move(number, { isEmpty: number !== 30 })
    await clock.advance(1_000)
  }
  expect(lines).toEqual(['Chain head advanced: 1, 1, 1', 'Chain head advanced: 30, 1, 30'])
  for (let number = 62; number <= 90; number++) {
    move(number, { isEmpty: true })
    await clock.advance(1_000)
  }
  expect(lines.slice(2)).toEqual(['Chain head advanced: 90, 1, 90'])
})

it('logs the pending heads when it stops', async () => {
  const { clock, lines, move, end } = followed()
  for (const number of [1, 2]) move(number)
  end()
  expect(lines.slice(1)).toEqual(['Chain head advanced: 2, 1, 2'])
  move(3)
  await clock.advance(1_000)
  expect(lines).toHaveLength(2)
})
