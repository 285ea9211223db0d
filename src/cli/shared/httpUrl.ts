import { UsageError } from '../../lib/errors.ts'

/**
 * Throws UsageError unless the text is an http:// or https:// address. The error does not repeat the value, which may hold a
 * key.
 */
export function checkHttpUrl(flagName: string, text: string): void {
  if (/^https?:$/.test(URL.parse(text)?.protocol ?? '')) return
  throw new UsageError(`${flagName} must be an http:// or https:// address`)
}
