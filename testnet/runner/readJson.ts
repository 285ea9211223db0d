import { readFileSync } from 'node:fs'
import { describeError, UsageError } from '../../src/lib/errors.ts'

/** Reads a file that holds a JSON object. Throws UsageError that names the file if it is damaged. */
export function readJson(path: string): Record<string, unknown> {
  const text = readFileSync(path, 'utf8')
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new UsageError(`${path} is damaged: ${describeError(cause)}`, { cause })
  }
}
