import { printable } from './steps.ts'

/** What a port that does not speak libp2p seems to be, from its first bytes. */
export function describeForeign(bytes: Uint8Array): string {
  const text = Buffer.from(bytes).toString('latin1')
  const firstLine = printable(text.split(/\r?\n/, 1)[0] ?? '', 60)
  if (text.startsWith('HTTP/')) return `a web server ("${firstLine}")`
  if (text.startsWith('SSH-')) return `an SSH server ("${firstLine}")`
  // RFC 8446, section 5.1: an alert, or a handshake, of TLS.
  if ((bytes[0] === 0x15 || bytes[0] === 0x16) && bytes[1] === 0x03) return 'a TLS server (https, for example)'
  const isText = /^[\x20-\x7e\r\n\t]+$/.test(text)
  return isText ? `"${firstLine}"` : `bytes that begin with 0x${Buffer.from(bytes.subarray(0, 16)).toString('hex')}`
}
