import { UsageError } from '../../lib/errors.ts'

/** Whether the text is an http:// or https:// address. */
export function isHttpUrl(text: string): boolean {
  return /^https?:$/.test(URL.parse(text)?.protocol ?? '')
}

/**
 * Throws UsageError unless the text is an http:// or https:// address. The error does not repeat the value, which may hold a
 * key.
 */
export function checkHttpUrl(flagName: string, text: string): void {
  if (!isHttpUrl(text)) throw new UsageError(`${flagName} must be an http:// or https:// address`)
}
