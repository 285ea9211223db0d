import { Agent, request } from 'undici'
import { redact, targetOf } from '../../jsonRpc/credentials.ts'
import { timeoutSignal } from '../../lib/clock.ts'
import { describeError } from '../../lib/errors.ts'
import { BeaconError } from './errors.ts'

export interface BeaconHttpOptions {
  /** With or without a path. User and password become basic authorization. */
  url: string
  headers?: Record<string, string> | undefined
  timeoutMs?: number | undefined
  maxResponseBytes?: number | undefined
}

export interface BeaconHttp {
  /** The address without secrets, for logs. */
  readonly name: string
  /**
   * Requests a path of the beacon API (no leading slash) and parses the JSON. Rejects with BeaconError, or the signal's
   * reason.
   */
  get(path: string, signal?: AbortSignal): Promise<unknown>
  close(): Promise<void>
}

/** A blob takes 0.26 MB as hex. L1 allows 21 blobs a block (BPO2); the rest is reserve for later forks. */
const MAX_RESPONSE_BYTES = 32 * 1024 * 1024
/** Time for a complete answer: 21 blobs are 5.5 MB, and the endpoint may be far away. */
const TIMEOUT_MS = 20_000
/** Status codes by which servers say that they do not support the path or its parameters. */
const UNSUPPORTED = new Set([400, 405, 410, 414, 415, 501])

/** An HTTP client for the beacon API, with limits of time and size. */
export function createBeaconHttp(options: BeaconHttpOptions): BeaconHttp {
  const { timeoutMs = TIMEOUT_MS, maxResponseBytes = MAX_RESPONSE_BYTES } = options
  const target = targetOf(options.url, options.headers)
  const base = new URL(target.url)
  const name = redact(options.url)
  const headers = { accept: 'application/json', ...target.headers }
  const agent = new Agent({ keepAliveTimeout: 30_000, connections: 8, maxResponseSize: maxResponseBytes })

  /** Keeps the query of the address: a provider may expect a key in it. */
  const addressOf = (path: string): URL => {
    const address = new URL(base)
    const [pathname = '', query] = path.split('?')
    address.pathname = `${base.pathname.replace(/\/$/, '')}/${pathname}`
    if (query !== undefined) address.search = base.search === '' ? query : `${base.search}&${query}`
    return address
  }

  return {
    name,
    async get(path, outer) {
      outer?.throwIfAborted()
      const timeout = timeoutSignal(timeoutMs)
      const signal = outer === undefined ? timeout : AbortSignal.any([outer, timeout])
      try {
        const { statusCode, body } = await request(addressOf(path), { dispatcher: agent, headers, signal })
        const text = await body.text()
        if (statusCode !== 200) throw statusError(statusCode, text)
        return parseJson(text)
      } catch (cause) {
        if (cause instanceof BeaconError) throw cause
        outer?.throwIfAborted()
        if (timeout.aborted) {
          const message = `no response within ${timeoutMs} ms`
          throw new BeaconError('beacon-unreachable', message, { cause, details: { timedOut: true } })
        }
        const code = isTooLarge(cause) ? 'beacon-bad-answer' : 'beacon-unreachable'
        const what = isTooLarge(cause) ? `response is longer than ${maxResponseBytes} bytes` : describeError(cause)
        throw new BeaconError(code, what, { cause })
      }
    },
    close: () => agent.destroy(),
  }
}

function statusError(status: number, text: string): BeaconError {
  const said = text.trim().slice(0, 160).replaceAll(/\s+/g, ' ')
  const message = said === '' ? `HTTP ${status}` : `HTTP ${status}: ${said}`
  const details = { status }
  if (status === 404) return new BeaconError('beacon-not-found', message, { details })
  return new BeaconError(UNSUPPORTED.has(status) ? 'beacon-unsupported' : 'beacon-unreachable', message, { details })
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new BeaconError('beacon-bad-answer', `response is not JSON: ${text.slice(0, 40).trim()}`, { cause })
  }
}

function isTooLarge(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE'
}
