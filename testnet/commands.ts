import { createInterface } from 'node:readline'
import { describeError } from '../src/lib/errors.ts'
import type { Emit } from './runner/events.ts'
import type { Testnet } from './runner/testnet.ts'

/**
 * What a script may write to standard input of a testnet that goes on when a program ends: `start <program>`, a line each.
 * What cannot be done is told as a warning.
 */
export function takeCommands(
  testnet: Pick<Testnet, 'startAgain'>,
  emit: Emit,
  input: NodeJS.ReadableStream = process.stdin,
): void {
  const lines = createInterface({ input })
  lines.on('line', (line) => {
    const [command, program, ...more] = line.trim().split(/\s+/)
    if (command === '') return
    try {
      if (command === 'start' && program !== undefined && more.length === 0) testnet.startAgain(program)
      else emit({ event: 'warning', message: `standard input: expected "start <program>", got "${line}"` })
    } catch (error) {
      emit({ event: 'warning', message: describeError(error) })
    }
  })
}
