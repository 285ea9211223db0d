import { describeError } from './errors.ts'

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'crit'
/** `logfmtms` and `jsonms` are op-node's names for times with milliseconds, which all formats have here. */
export type LogFormat = 'text' | 'terminal' | 'logfmt' | 'logfmtms' | 'json' | 'jsonms' | 'json-pretty'
export type LogFields = Record<string, unknown>

/**
 * Example: `log.info('Imported new block', { number, hash })`. Errors go into the fields as `err`. Each line is one
 * event. Callers never pass secrets.
 */
export interface Logger {
  trace(message: string, fields?: LogFields): void
  debug(message: string, fields?: LogFields): void
  info(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  error(message: string, fields?: LogFields): void
  crit(message: string, fields?: LogFields): void
  /** A logger that adds these fields to every line. */
  child(fields: LogFields): Logger
  /** True if a line of this level would be written. Use it before computing expensive fields. */
  enabled(level: LogLevel): boolean
}

export const LOG_LEVELS: readonly LogLevel[] = ['trace', 'debug', 'info', 'warn', 'error', 'crit']
/** Aliases that op-node and op-batcher accept too. */
const SHORT_LEVELS: Readonly<Record<string, string>> = { trce: 'trace', dbug: 'debug', eror: 'error' }

/** Undefined for a text that names no level. */
export function parseLogLevel(text: string): LogLevel | undefined {
  const name = text.toLowerCase()
  return LOG_LEVELS.find((level) => level === (SHORT_LEVELS[name] ?? name))
}

export const LOG_FORMATS: readonly LogFormat[] = [
  'text',
  'terminal',
  'logfmt',
  'logfmtms',
  'json',
  'jsonms',
  'json-pretty',
]

export interface LoggerOptions {
  level: LogLevel
  format: LogFormat
  /** ANSI colours in `terminal` format. */
  color: boolean
  /** Adds the process id to every line. */
  pid?: boolean
  now?: () => number
  write?: (line: string) => void
}

/** All children share the level, which may change at run time (admin_setLogLevel). */
export interface RootLogger extends Logger {
  setLevel(level: LogLevel): void
}

export function createLogger(options: LoggerOptions): RootLogger {
  const state = { threshold: LOG_LEVELS.indexOf(options.level) }
  const now = options.now ?? Date.now
  const write = options.write ?? ((line: string) => process.stdout.write(line))
  const format = FORMATTERS[options.format]
  const base: LogFields = options.pid === true ? { pid: process.pid } : {}

  const make = (bound: LogFields): RootLogger => {
    const isBound = Object.keys(bound).length > 0
    const at = (level: LogLevel) => {
      const rank = LOG_LEVELS.indexOf(level)
      return (message: string, fields: LogFields = {}) => {
        if (rank < state.threshold) return
        write(`${format(level, now(), message, isBound ? { ...bound, ...fields } : fields, options.color)}\n`)
      }
    }
    return {
      trace: at('trace'),
      debug: at('debug'),
      info: at('info'),
      warn: at('warn'),
      error: at('error'),
      crit: at('crit'),
      child: (fields) => make({ ...bound, ...fields }),
      enabled: (level) => LOG_LEVELS.indexOf(level) >= state.threshold,
      setLevel: (level) => {
        state.threshold = LOG_LEVELS.indexOf(level)
      },
    }
  }
  return make(base)
}

const nothing = () => {}

/** Drops all lines: for tests, and for tools that print their own output. */
export const silentLogger: Logger = {
  trace: nothing,
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
  crit: nothing,
  child: () => silentLogger,
  enabled: () => false,
}

type Formatter = (level: LogLevel, nowMs: number, message: string, fields: LogFields, color: boolean) => string

const FORMATTERS: Record<LogFormat, Formatter> = {
  text: formatLogfmt,
  logfmt: formatLogfmt,
  logfmtms: formatLogfmt,
  terminal: formatTerminal,
  json: formatJson,
  jsonms: formatJson,
  'json-pretty': (level, nowMs, message, fields) =>
    JSON.stringify(jsonRecord(level, nowMs, message, fields), jsonValue, 2),
}

function formatLogfmt(level: LogLevel, nowMs: number, message: string, fields: LogFields): string {
  return `t=${new Date(nowMs).toISOString()} lvl=${level} msg=${quote(message)}${fieldText(fields)}`
}

function formatJson(level: LogLevel, nowMs: number, message: string, fields: LogFields): string {
  return JSON.stringify(jsonRecord(level, nowMs, message, fields), jsonValue)
}

const LEVEL_COLORS: Record<LogLevel, number> = { trace: 90, debug: 36, info: 32, warn: 33, error: 31, crit: 35 }

function formatTerminal(level: LogLevel, nowMs: number, message: string, fields: LogFields, color: boolean): string {
  const time = new Date(nowMs).toISOString().slice(5, 23).replace('T', '|')
  const tag = level.toUpperCase().padEnd(5)
  const colored = color ? `\u001b[${LEVEL_COLORS[level]}m${tag}\u001b[0m` : tag
  return `${colored}[${time}] ${message.padEnd(44)}${fieldText(fields)}`
}

function fieldText(fields: LogFields): string {
  let text = ''
  for (const [key, value] of Object.entries(fields)) {
    // A number needs no quotes.
    if (typeof value === 'number' || typeof value === 'bigint') text += ` ${key}=${value}`
    else if (value !== undefined) text += ` ${key}=${quote(valueText(value))}`
  }
  return text
}

function valueText(value: unknown): string {
  if (typeof value === 'string') return value
  if (value instanceof Error) return describeError(value)
  if (typeof value === 'object' && value !== null) return JSON.stringify(value, jsonValue)
  return String(value)
}

function quote(text: string): string {
  // Escapes control characters, so that text from a peer can neither forge a line nor move the cursor.
  return /[\s="\\\p{Cc}]/u.test(text) || text === '' ? JSON.stringify(text) : text
}

function jsonRecord(level: LogLevel, nowMs: number, message: string, fields: LogFields): LogFields {
  const record: LogFields = { t: new Date(nowMs).toISOString(), lvl: level, msg: message }
  for (const [key, value] of Object.entries(fields)) record[key] = jsonValue(key, value)
  return record
}

function jsonValue(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString()
  if (value instanceof Error) return describeError(value)
  return value
}
