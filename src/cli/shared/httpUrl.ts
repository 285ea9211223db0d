import { UsageError } from '../../lib/errors.ts'

/** Throws UsageError for what is no http:// or https:// address. The value may hold a key: it is not repeated. */
export function checkHttpUrl(flagName: string, text: string): void {
  if (/^https?:$/.test(URL.parse(text)?.protocol ?? '')) return
  throw new UsageError(`${flagName} must be an http:// or https:// address`)
}
