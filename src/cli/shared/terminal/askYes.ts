import { createInterface } from 'node:readline/promises'
import { UsageError } from '../../../lib/errors.ts'

export interface Prompt {
  input: NodeJS.ReadableStream & { isTTY?: boolean }
  output: NodeJS.WritableStream & { isTTY?: boolean }
}

/** Asks the user to confirm. Throws UsageError after a no, and where nobody can answer: scripts pass `--yes`. */
export async function askYes(
  question: string,
  { input, output }: Prompt = { input: process.stdin, output: process.stderr },
): Promise<void> {
  if (input.isTTY !== true || output.isTTY !== true) throw new UsageError(`${question} To confirm, add --yes.`)
  const terminal = createInterface({ input, output })
  // Ctrl-C and Ctrl-D close the prompt without an answer.
  const closed = new AbortController()
  terminal.once('close', () => closed.abort())
  try {
    const answer = await terminal.question(`${question} Continue? [y/N] `, { signal: closed.signal }).catch(() => '')
    if (!/^y(es)?$/i.test(answer.trim())) throw new UsageError('cancelled, nothing was changed')
  } finally {
    terminal.close()
  }
}
