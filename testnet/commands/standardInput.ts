import { createInterface } from 'node:readline'
import { describeError } from '../../src/lib/errors.ts'
import type { Emit } from '../runner/events.ts'
import { type RunCommand, wordsOf } from './commands.ts'

/** Reads commands from standard input, one a line. A failed command is reported as a warning. */
export function takeCommands(run: RunCommand, emit: Emit, input: NodeJS.ReadableStream = process.stdin): void {
  createInterface({ input }).on('line', (line) => {
    const words = wordsOf(line)
    if (words.length === 0) return
    run(words).catch((error) => emit({ event: 'warning', message: `standard input: ${describeError(error)}` }))
  })
}
