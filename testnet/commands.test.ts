import { PassThrough } from 'node:stream'
import { expect, it } from 'vitest'
import { UsageError } from '../src/lib/errors.ts'
import { takeCommands } from './commands.ts'
import type { TestnetEvent } from './runner/events.ts'

it('takes one command a line, and tells what it cannot do', async () => {
  const started: string[] = []
  const told: TestnetEvent[] = []
  const input = new PassThrough()
  const startAgain = (program: string) => {
    if (program === 'l1') throw new UsageError('l1 has not ended')
    started.push(program)
  }
  takeCommands({ startAgain }, (event) => told.push(event), input)
  input.write('start batcher\n\n  start  verifier1-geth \nstart l1\nsta')
  input.end('rt\nstop batcher\n')
  await expect.poll(() => told).toHaveLength(3)
  expect(started).toEqual(['batcher', 'verifier1-geth'])
  expect(told).toEqual([
    { event: 'warning', message: 'l1 has not ended' },
    { event: 'warning', message: 'standard input: expected "start <program>", got "start"' },
    { event: 'warning', message: 'standard input: expected "start <program>", got "stop batcher"' },
  ])
})
