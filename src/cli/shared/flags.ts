import { parseDurationMs } from '../../lib/duration.ts'
import { UsageError } from '../../lib/errors.ts'

/** One flag, `--name`, which the environment may also set. Its parser gives it a type. */
export interface FlagSpec<T> {
  /** Without the leading dashes, for example `p2p.listen.tcp`. */
  name: string
  description: string
  /** Heading of the flag in `--help`. */
  group: string
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
  /** Works, with a warning that names this replacement. */
  deprecatedFor?: string
}

export type FlagTable = Record<string, FlagSpec<unknown>>
export type FlagValues<T extends FlagTable> = { [K in keyof T]: T[K] extends FlagSpec<infer V> ? V : never }

type FlagDetails<T> = Partial<Pick<FlagSpec<T>, 'placeholder' | 'env' | 'hidden' | 'repeatable' | 'ignored'>>

type FlagBuilder<T> = (
  group: string,
  name: string,
  defaultValue: T,
  description: string,
  details?: FlagDetails<T>,
) => FlagSpec<T>

function builder<T>(placeholder: string, parse: (text: string) => T): FlagBuilder<T> {
  return (group, name, defaultValue, description, details = {}) => ({
    group,
    name,
    description,
    default: defaultValue,
    parse,
    placeholder,
    ...details,
  })
}

const text = (value: string): string => value

/** Builders of typed flags. Parse errors are UsageErrors that name the expected value. */
export const flag = {
  string: builder<string>('<text>', text),
  /** A value without default: undefined when absent or empty. */
  optional: (group: string, name: string, description: string, details?: FlagDetails<string | undefined>) =>
    builder('<text>', (value): string | undefined => (value === '' ? undefined : value))(
      group,
      name,
      undefined,
      description,
      details,
    ),
  boolean: (
    group: string,
    name: string,
    description: string,
    details: FlagDetails<boolean> & { default?: boolean } = {},
  ): FlagSpec<boolean> => ({ group, name, description, parse: parseBoolean, default: false, ...details }),
  integer: (
    group: string,
    name: string,
    defaultValue: number,
    description: string,
    { min = 0, max = Number.MAX_SAFE_INTEGER }: { min?: number; max?: number } = {},
    details?: FlagDetails<number>,
  ) => builder('<number>', (value) => parseInteger(value, min, max))(group, name, defaultValue, description, details),
  /** 0 lets the system choose. */
  port: builder<number>('<port>', (value) => parseInteger(value, 0, 65535)),
  number: builder<number>('<number>', parseNumber),
  /** Go's duration text (`1h30m`, `500ms`), parsed to milliseconds. */
  durationMs: builder<number>('<duration>', parseDurationMs),
  list: (group: string, name: string, description: string, details?: FlagDetails<string[]>) =>
    builder<string[]>('<a,b,…>', parseList)(group, name, [], description, { repeatable: true, ...details }),
  choice: <C extends string>(
    group: string,
    name: string,
    choices: readonly C[],
    defaultValue: C,
    description: string,
    details?: FlagDetails<C>,
  ) => {
    const expected = choices.join(', ')
    const parse = (value: string): C => {
      const found = choices.find((choice) => choice === value)
      if (found === undefined) throw new UsageError(`expected one of ${expected}`)
      return found
    }
    return builder('<choice>', parse)(group, name, defaultValue, `${description} (${expected})`, details)
  },
}

/** `createProgram` reads this flag. The file sets flags that neither the command line nor the environment sets. */
export const configFlag = flag.optional(
  'Configuration',
  'config',
  'TOML file that sets flags by name. The command line and the environment take precedence',
  { placeholder: '<file>' },
)

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

/** A flag of op-node or op-batcher that is ignored. It may stand without a value, since some of them are switches. */
export function ignoredFlag(name: string, { from = 'op-node' }: { from?: string } = {}): FlagSpec<string> {
  const { placeholder: _, ...spec } = flag.string('Ignored', name, '', `Accepted from ${from} and ignored`)
  return { ...spec, ignored: true }
}

/** `a,b, c` → three entries; empty entries are dropped. */
export function parseList(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
}
