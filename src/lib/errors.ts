/**
 * How a loop reacts to an error (design decision 10). `temporary`: try again with back-off. `reset`: rebuild the
 * derivation pipeline from the L2 heads. `critical`: stop the process with a non-zero exit code.
 */
export type Severity = 'temporary' | 'reset' | 'critical'

export interface DeviumErrorOptions {
  cause?: unknown
  severity?: Severity
  details?: Record<string, unknown>
}

/** Base class of every error that we throw on purpose. Branch on `code`, which is stable, never on the message. */
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

/** The operator gave a wrong flag, file or argument. The program prints the message as one line, without a stack. */
export class UsageError extends DeviumError<'usage'> {
  override readonly name = 'UsageError'
  constructor(message: string, options: DeviumErrorOptions = {}) {
    super('usage', message, options)
  }
}

/** Input bytes break the rules of their format. The message names the value and the rule. */
export class DecodeError extends DeviumError<'decode'> {
  override readonly name = 'DecodeError'
  /** Offset in the decoder's input of the byte that breaks the rule, if the decoder knows it. */
  readonly at: number | undefined

  constructor(message: string, options: DeviumErrorOptions & { at?: number | undefined } = {}) {
    super('decode', message, options)
    this.at = options.at
  }
}

/** Severity of any thrown value. Errors without a severity (network, parsing of a remote answer) are temporary. */
export function severityOf(error: unknown): Severity {
  if (error instanceof DeviumError && error.severity !== undefined) return error.severity
  return 'temporary'
}

/** Whether this is a system error with the given code, such as `ENOENT`. */
export function isErrno(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}

/** One line for logs: the message, then the messages of the causes. */
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

/** When a stream closes during use, libp2p throws the Event object itself. */
function textOf(thrown: unknown): string {
  if (!(thrown instanceof Event)) return String(thrown)
  return 'error' in thrown && thrown.error instanceof Error ? errorText(thrown.error) : thrown.type
}

function errorText(error: Error): string {
  // An AggregateError has no message itself, for example after a failed connect to localhost over IPv4 and IPv6.
  if (error.message === '' && error instanceof AggregateError) {
    return error.errors.map((inner) => (inner instanceof Error ? inner.message : String(inner))).join('; ')
  }
  return error.message === '' ? error.name : error.message
}
