/** Where to connect, without user and password, and the headers of each request. */
export interface Target {
  url: string
  headers: Record<string, string>
}

/**
 * User and password of an address go into a header (Basic, RFC 7617), as Go's client sends them. Another authorization
 * among `headers` wins. What is no address is left for the connection to refuse.
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

/** URL has written all that is not ASCII as the bytes of UTF-8; bytes that are no UTF-8 stay as they are. */
function percentDecoded(text: string): Buffer {
  const bytes = text.replace(/%([\da-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1')
}

/** An address often carries a key in user info, path or query: only scheme, host and port are ever shown. */
export function redact(url: string): string {
  try {
    const { protocol, host } = new URL(url)
    return `${protocol}//${host}`
  } catch {
    return 'an invalid URL'
  }
}
