import { formatDuration, parseDurationMs } from '../../lib/duration.ts'
import { UsageError } from '../../lib/errors.ts'

/** A flag before `flagGroup` names it. Its parser gives it a type. */
export interface FlagRow<T> {
  description: string
  /** Shown in help as `<port>`; absent for booleans. */
  placeholder?: string
  default: T
  parse: (text: string) => T
  /** Environment variable without prefix. The default is the name in upper case, with `.` and `-` as `_`. */
  env?: string
  hidden?: boolean
  /** May be given several times; values are joined with commas before `parse`. */
  repeatable?: boolean
  /** Accepted for compatibility; it only causes a warning. */
  ignored?: boolean
  /** No error repeats the value. */
  secret?: boolean
  /** Works, with a warning that names this replacement. */
  deprecatedFor?: string
}

/** One flag, `--name`, which the environment may also set. */
export interface FlagSpec<T> extends FlagRow<T> {
  /** Without the leading dashes, for example `p2p.listen.tcp`. */
  name: string
  /** Heading of the flag in `--help`. */
  group: string
}

/** By name. */
export type FlagTable = Record<string, FlagSpec<unknown>>
/** Typed values. `--p2p.listen.tcp` is `p2pListenTcp`. */
export type FlagValues<T extends FlagTable> = {
  [N in keyof T as FlagKey<N & string>]: T[N] extends FlagSpec<infer V> ? V : never
}
type FlagKey<Name extends string> = Name extends `${infer Head}.${infer Rest}`
  ? `${FlagKey<Head>}${Capitalize<FlagKey<Rest>>}`
  : Name extends `${infer Head}-${infer Rest}`
    ? `${Head}${Capitalize<FlagKey<Rest>>}`
    : Name

/** The key of a flag in `FlagValues`. */
export function flagKey(name: string): string {
  return name.replace(/[.-](\w)/g, (_, letter: string) => letter.toUpperCase())
}

/** Names each flag by its key. */
export function flagGroup<T extends Record<string, FlagRow<unknown>>>(
  group: string,
  rows: T,
): { [N in keyof T]: T[N] & Pick<FlagSpec<unknown>, 'name' | 'group'> } {
  const named = Object.entries(rows).map(([name, row]) => [name, { ...row, name, group }])
  return Object.fromEntries(named)
}

type FlagDetails<T> = Partial<Omit<FlagRow<T>, 'description' | 'parse'>>

function custom<T>(
  placeholder: string,
  parse: (text: string) => T,
  defaultValue: T,
  description: string,
  details?: FlagDetails<T>,
): FlagRow<T> {
  return { placeholder, parse, default: defaultValue, description, ...details }
}

/** Builders of typed flags. Parse errors are UsageErrors that name the expected value. */
export const flag = {
  custom,
  string: (placeholder: string, defaultValue: string, description: string, details?: FlagDetails<string>) =>
    custom(placeholder, (text) => text, defaultValue, description, details),
  /** A value without default: undefined when absent or empty. */
  optional: (placeholder: string, description: string, details?: FlagDetails<string | undefined>) =>
    custom(placeholder, (text) => text || undefined, undefined, description, details),
  boolean: (description: string, details?: FlagDetails<boolean>): FlagRow<boolean> => ({
    description,
    parse: parseBoolean,
    default: false,
    ...details,
  }),
  integer: (
    defaultValue: number,
    description: string,
    { min = 0, max = Number.MAX_SAFE_INTEGER, ...details }: FlagDetails<number> & { min?: number; max?: number } = {},
  ) => custom('<number>', (text) => parseInteger(text, min, max), defaultValue, description, details),
  /** 0 lets the system choose. */
  port: (defaultValue: number, description: string, details?: FlagDetails<number>) =>
    custom('<port>', (text) => parseInteger(text, 0, 65535), defaultValue, description, details),
  number: (defaultValue: number, description: string, details?: FlagDetails<number>) =>
    custom('<number>', parseNumber, defaultValue, description, details),
  /** Go's duration text (`1h30m`, `500ms`), parsed to milliseconds. */
  durationMs: (defaultValue: number, description: string, details?: FlagDetails<number>) =>
    custom('<duration>', parseDurationMs, defaultValue, description, details),
  list: (description: string, details?: FlagDetails<string[]>) =>
    custom('<a,b,…>', parseList, [], description, { repeatable: true, ...details }),
  choice: <const C extends string>(
    choices: readonly C[],
    defaultValue: C,
    description: string,
    details?: FlagDetails<C>,
  ) => custom('<choice>', choiceParser(choices), defaultValue, `${description} (${choices.join(', ')})`, details),
}

/** `createProgram` reads this flag. The file sets flags that neither the command line nor the environment sets. */
export const configFlags = flagGroup('Configuration', {
  config: flag.optional(
    '<file>',
    'TOML file that sets flags by name. The command line and the environment take precedence',
  ),
})

/** The rollup node and the batch submitter have these flags. */
export const metricsFlags = flagGroup('Metrics', {
  'metrics.enabled': flag.boolean('Serve metrics'),
  'metrics.addr': flag.string('<ip>', '127.0.0.1', 'Address that metrics listen on'),
  'metrics.port': flag.port(7300, 'Port that metrics listen on'),
})

function choiceParser<C extends string>(choices: readonly C[]): (text: string) => C {
  return (text) => {
    const found = choices.find((choice) => choice === text)
    if (found === undefined) throw new UsageError(`expected one of ${choices.join(', ')}`)
    return found
  }
}

function parseBoolean(text: string): boolean {
  if (/^(true|t|1|yes)$/i.test(text)) return true
  if (/^(false|f|0|no)$/i.test(text)) return false
  throw new UsageError('expected true or false')
}

function parseInteger(text: string, min: number, max: number): number {
  const value = /^-?\d+$/.test(text) ? Number(text) : Number.NaN
  if (!Number.isSafeInteger(value) || value < min || value > max) {
    throw new UsageError(
      `expected a whole number ${max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`}`,
    )
  }
  return value
}

function parseNumber(text: string): number {
  const value = text.trim() === '' ? Number.NaN : Number(text)
  if (!Number.isFinite(value)) throw new UsageError('expected a number')
  return value
}

/** op-node and op-batcher have these flags: alt-DA, and Go's profiler. */
export const COMMON_IGNORED_FLAGS = [
  'altda.da-server',
  'altda.da-service',
  'altda.verify-on-read',
  'altda.get-timeout',
  'altda.put-timeout',
  'altda.max-concurrent-da-requests',
  'pprof.enabled',
  'pprof.addr',
  'pprof.port',
  'pprof.type',
  'pprof.path',
] as const

/** Flags of op-node or op-batcher that are ignored. They may stand without a value, since some of them are switches. */
export function ignoredFlags<Name extends string>(
  program: string,
  names: readonly Name[],
): Record<Name, FlagSpec<string>> {
  const row = { description: `Accepted from ${program} and ignored`, default: '', parse: String, ignored: true }
  const named = names.map((name) => [name, { ...row, name, group: 'Ignored' }])
  return Object.fromEntries(named)
}

/** Flags of features that do not exist here. They may be given as false, which is how deployments write out a default. */
export function unsupportedFlags<Name extends string>(names: readonly Name[]): Record<Name, FlagSpec<boolean>> {
  const parse = (text: string): boolean => {
    if (parseBoolean(text)) throw new UsageError('not supported: only false is accepted')
    return false
  }
  const row = { ...flag.boolean('Accepted as false only', { hidden: true }), parse, group: 'Unsupported' }
  const named = names.map((name) => [name, { ...row, name }])
  return Object.fromEntries(named)
}

/** The default as text. Empty for an empty text, list or table, and without a default. */
export function defaultText({ default: value, placeholder }: FlagSpec<unknown>): string {
  if (value === undefined) return ''
  if (typeof value === 'object' && value !== null && Object.keys(value).length === 0) return ''
  return placeholder === '<duration>' ? formatDuration(Number(value)) : String(value)
}

/** `a,b, c` → three entries; empty entries are dropped. */
export function parseList(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
}
