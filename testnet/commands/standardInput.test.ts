import { PassThrough } from 'node:stream'
import { expect, it } from 'vitest'
import { UsageError } from '../../src/lib/errors.ts'
import type { TestnetEvent } from '../runner/events.ts'
import { takeCommands } from './standardInput.ts'

it('runs one command a line, and reports failures', async () => {
  const run: string[][] = []
  const reported: TestnetEvent[] = []
  const input = new PassThrough()
  const follow = async (words: readonly string[]) => {
    if (words[1] === 'l1') throw new UsageError('l1 has not ended')
    run.push([...words])
    return { command: words.join(' '), did: '', lookAt: '' }
  }
  takeCommands(follow, (event) => reported.push(event), input)
  input.write('start batcher\n\n  start  verifier1-geth \nstart l1\nhe')
  input.end('al\n')
  await expect.poll(() => run).toEqual([['start', 'batcher'], ['start', 'verifier1-geth'], ['heal']])
  expect(reported).toEqual([{ event: 'warning', message: 'standard input: l1 has not ended' }])
})
