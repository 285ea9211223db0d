/** The address without user and password, and the headers of each request. */
export interface Target {
  url: string
  headers: Record<string, string>
}

/**
 * Moves user and password of an address into a header (Basic, RFC 7617), as Go's client does. An authorization in
 * `headers` takes precedence. An invalid address is returned as it is, and the connection will fail.
 */
export function targetOf(address: string, headers: Readonly<Record<string, string>> = {}): Target {
  const url = URL.parse(address)
  if (url === null || (url.username === '' && url.password === '')) return { url: address, headers: { ...headers } }
  const basic = Buffer.concat([percentDecoded(url.username), Buffer.from(':'), percentDecoded(url.password)])
  url.username = ''
  url.password = ''
  const isAuthorized = Object.keys(headers).some((name) => name.toLowerCase() === 'authorization')
  return {
    url: url.href,
    headers: { ...(isAuthorized ? {} : { authorization: `Basic ${basic.toString('base64')}` }), ...headers },
  }
}

/** URL percent-encodes non-ASCII characters as UTF-8. Bytes that are not UTF-8 are kept. */
function percentDecoded(text: string): Buffer {
  const bytes = text.replace(/%([\da-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1')
}

/** Returns scheme, host and port only: user info, path or query of an address often contain a key. */
export function redact(url: string): string {
  try {
    const { protocol, host } = new URL(url)
    return `${protocol}//${host}`
  } catch {
    return 'an invalid URL'
  }
}
