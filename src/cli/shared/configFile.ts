import { readFileSync } from 'node:fs'
import { describeError, UsageError } from '../../lib/errors.ts'
import { nearestTo } from '../../lib/nearest.ts'
import { parseToml } from '../../rollup/networks/toml.ts'
import type { FlagSpec, FlagTable } from './flags.ts'

/** More unknown keys are counted but not named. */
const MAX_UNKNOWN_KEYS = 8

/**
 * Reads a TOML file that sets flags by their names, and returns the text of each flag as the command line would hold it.
 * `"l1.beacon" = "…"` and `beacon = "…"` below `[l1]` name the same flag.
 * Throws UsageError that names the file, and the key where one is wrong.
 */
export function readConfigFile(path: string, flags: FlagTable): Map<string, string> {
  const entries = [...flatten(readToml(path))]
  // A file that names another file would need a precedence rule between both.
  const specs = new Map(
    Object.values(flags)
      .filter(({ name }) => name !== 'config')
      .map((spec) => [spec.name, spec]),
  )
  const unknown = entries.flatMap(([key]) => (specs.has(key) ? [] : [key]))
  if (unknown.length > 0) throw new UsageError(`${path}: ${describeUnknownKeys(unknown, specs)}`)
  const texts = new Map<string, string>()
  for (const [key, value] of entries) {
    const spec = specs.get(key)
    if (spec !== undefined) texts.set(key, readValue(spec, value, `${path}: ${key}`))
  }
  return texts
}

function readToml(path: string): Record<string, unknown> {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (cause) {
    throw new UsageError(`the configuration file ${path} cannot be read: ${describeError(cause)}`, { cause })
  }
  try {
    return parseToml(text)
  } catch (cause) {
    throw new UsageError(`the configuration file ${path} is not valid: ${describeError(cause)}`, { cause })
  }
}

/** Values by dotted key, in the file's order. */
function* flatten(table: Record<string, unknown>, prefix = ''): Generator<[key: string, value: unknown]> {
  for (const [name, value] of Object.entries(table)) {
    const key = `${prefix}${name}`
    if (isTable(value)) yield* flatten(value, `${key}.`)
    else yield [key, value]
  }
}

function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)
}

function describeUnknownKeys(keys: readonly string[], specs: ReadonlyMap<string, FlagSpec<unknown>>): string {
  const suggested = [...specs.values()].filter(({ ignored }) => ignored !== true).map(({ name }) => name)
  const lines = keys.slice(0, MAX_UNKNOWN_KEYS).map((key) => {
    const [nearest = ''] = nearestTo(key, suggested, 1)
    return `unknown flag "${key}" (did you mean "${nearest}"?)`
  })
  const more = keys.length - lines.length
  return `${lines.join('; ')}${more > 0 ? `; and ${more} more unknown flags` : ''}`
}

function readValue(spec: FlagSpec<unknown>, value: unknown, where: string): string {
  const takesList = spec.repeatable === true || spec.placeholder?.includes(',') === true
  if (Array.isArray(value) && !takesList) throw new UsageError(`${where}: expected one value, not a list`)
  const text = Array.isArray(value) ? value.map((item) => textOf(item, where)).join(',') : textOf(value, where)
  try {
    spec.parse(text)
  } catch (error) {
    throw new UsageError(`${where}: ${describeError(error)}`, { cause: error })
  }
  return text
}

function textOf(value: unknown, where: string): string {
  if (typeof value === 'string') return value
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean') return String(value)
  throw new UsageError(`${where}: expected a string, a number, a boolean, or a list of these`)
}
