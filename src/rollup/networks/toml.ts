import { parse, TomlError } from 'smol-toml'
import { DecodeError } from '../../lib/errors.ts'

/** Maximum nesting of arrays and inline tables. */
const MAX_DEPTH = 20

/** Parses a TOML document. Throws DecodeError that names the line. */
export function parseToml(text: string): Record<string, unknown> {
  try {
    return parse(text, { maxDepth: MAX_DEPTH })
  } catch (cause) {
    if (!(cause instanceof TomlError)) throw cause
    const [problem = ''] = cause.message.split('\n')
    throw new DecodeError(`TOML line ${cause.line}: ${problem.replace('Invalid TOML document: ', '')}`, { cause })
  }
}
