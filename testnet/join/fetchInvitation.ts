import { lookup } from 'node:dns/promises'
import { isIPv4 } from 'node:net'
import { request } from 'undici'
import { describeError, UsageError } from '../../src/lib/errors.ts'
import { type Invitation, invitationSchema } from './invitation.ts'

const TIMEOUT_MS = 30_000
/** Limit of the response. A genesis file has 10 MB. */
const MAX_BYTES = 64 * 1024 * 1024

/** Fetches the invitation, and the IPv4 address of the machine that served it. Throws UsageError. */
export async function fetchInvitation(
  text: string,
  signal: AbortSignal,
): Promise<{ invitation: Invitation; ip: string }> {
  const url = URL.parse(text)
  if (url?.protocol !== 'http:') throw new UsageError(`join: expected http://HOST:PORT, got "${text}"`)
  try {
    const ip = isIPv4(url.hostname) ? url.hostname : (await lookup(url.hostname, { family: 4 })).address
    const body = await readBody(url, AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]))
    return { invitation: invitationSchema.parse(JSON.parse(body)), ip }
  } catch (cause) {
    signal.throwIfAborted()
    throw new UsageError(`join: ${url.origin} has no testnet to join: ${describeError(cause)}`, { cause })
  }
}

async function readBody(url: URL, signal: AbortSignal): Promise<string> {
  const { statusCode, body } = await request(url, { signal })
  if (statusCode !== 200) throw new UsageError(`it answers with status ${statusCode}`)
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of body) {
    bytes += part.length
    if (bytes > MAX_BYTES) throw new UsageError(`it answers with more than ${MAX_BYTES} bytes`)
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}
