/**
 * How a failure is answered by the loop that sees it (design decision 9):
 * `temporary` is tried again with back-off, `reset` rebuilds the derivation pipeline from the L2 heads,
 * `critical` stops the process with a non-zero exit code.
 */
export type Severity = 'temporary' | 'reset' | 'critical'

export interface DeviumErrorOptions {
  cause?: unknown
  severity?: Severity
  details?: Record<string, unknown>
}

/** Base of every error thrown on purpose. Branch on `code` (stable), never on the message. */
export class DeviumError<Code extends string = string> extends Error {
  override readonly name: string = 'DeviumError'
  readonly code: Code
  readonly severity: Severity | undefined
  readonly details: Readonly<Record<string, unknown>>

  constructor(code: Code, message: string, options: DeviumErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.severity = options.severity
    this.details = options.details ?? {}
  }
}

/** A flag, file or argument the operator gave is wrong: printed as one line, without a stack. */
export class UsageError extends DeviumError<'usage'> {
  override readonly name = 'UsageError'
  constructor(message: string, options: DeviumErrorOptions = {}) {
    super('usage', message, options)
  }
}

/** Input bytes do not follow the format they claim. `code` names the format, the message names the rule. */
export class DecodeError extends DeviumError<'decode'> {
  override readonly name = 'DecodeError'
  /** Byte of the decoder's input that breaks the rule, where the decoder knows it. */
  readonly at: number | undefined

  constructor(message: string, options: DeviumErrorOptions & { at?: number | undefined } = {}) {
    super('decode', message, options)
    this.at = options.at
  }
}

/** Severity of anything thrown: unmarked errors (network, parsing of a remote answer) are temporary. */
export function severityOf(error: unknown): Severity {
  if (error instanceof DeviumError && error.severity !== undefined) return error.severity
  return 'temporary'
}

/** Whether it is the system's error of this code (`ENOENT`), as Node throws it. */
export function isErrno(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}

/** One line for logs: the message followed by those of its causes. */
export function describeError(error: unknown): string {
  const parts: string[] = []
  let current: unknown = error
  for (let depth = 0; current !== undefined && current !== null && depth < 5; depth++) {
    const text = current instanceof Error ? errorText(current) : textOf(current)
    if (!parts.some((part) => part.includes(text))) parts.push(text)
    if (!(current instanceof Error)) break
    current = current.cause
  }
  return parts.join(': ')
}

/** What libp2p throws when a stream closes under it is the event itself. */
function textOf(thrown: unknown): string {
  if (!(thrown instanceof Event)) return String(thrown)
  return 'error' in thrown && thrown.error instanceof Error ? errorText(thrown.error) : thrown.type
}

function errorText(error: Error): string {
  // AggregateError (a failed connect to localhost over IPv4 and IPv6) has an empty message of its own.
  if (error.message === '' && error instanceof AggregateError) {
    return error.errors.map((inner) => (inner instanceof Error ? inner.message : String(inner))).join('; ')
  }
  return error.message === '' ? error.name : error.message
}
