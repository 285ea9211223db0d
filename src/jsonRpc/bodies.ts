import type { IncomingMessage } from 'node:http'
import type { HttpBindings } from '@hono/node-server'
import type { Context, MiddlewareHandler, Next } from 'hono'
import { concatBytes } from '../lib/bytes.ts'
import { createSlots } from '../lib/slots.ts'

/**
 * A body of megabytes takes several times as much until it is answered. The server reads one large body of unauthenticated
 * clients at a time, while the others wait in their sockets.
 */
export const LARGE_BODY_BYTES = 256 * 1024
const MAX_WAITING_BODIES = 64

/** The environment of the calls' route. */
export interface CallEnv {
  Bindings: HttpBindings
  Variables: { body: string | Uint8Array }
}

/**
 * Reads the body of a call: a text, or bytes where it is large. A body beyond `maxBytes` is refused with 413, and a large one
 * with 503 where too many wait already.
 */
export function readBody(maxBytes: number, maxLargeAtOnce = 1): MiddlewareHandler<CallEnv> {
  const largeBodies = createSlots(maxLargeAtOnce)
  const shortBytes = Math.min(LARGE_BODY_BYTES, maxBytes)
  return async (context, next) => {
    const { 'content-length': announced } = context.env.incoming.headers
    if (Number(announced) > maxBytes) return tooLarge(context)
    try {
      if (announced === undefined || Number(announced) > shortBytes) return await readLong(context, next)
      context.set('body', await context.req.text())
      return await next()
    } catch {
      return context.text('the request ended before its body', 400)
    }
  }

  async function readLong(context: Context<CallEnv>, next: Next) {
    const { incoming } = context.env
    const body = new LongBody(incoming)
    const readLarge = async () => {
      if (!(await body.readUpTo(maxBytes))) {
        await body.leave()
        return tooLarge(context)
      }
      context.set('body', body.take())
      return next()
    }
    // The length of a body in chunks shows as it comes.
    const isShort = incoming.headers['content-length'] === undefined && (await body.readUpTo(shortBytes))
    if (isShort) return readLarge()
    if (largeBodies.waiting < MAX_WAITING_BODIES) return largeBodies.run(readLarge)
    await body.leave()
    return context.text('too many large requests at once', 503)
  }

  function tooLarge(context: Context<CallEnv>): Response {
    return context.text(`request body is larger than ${maxBytes} bytes`, 413)
  }
}

class LongBody {
  private chunks: Uint8Array[] = []
  private length = 0
  private readonly rest: NodeJS.AsyncIterator<Uint8Array>

  constructor(incoming: IncomingMessage) {
    this.rest = incoming.iterator({ destroyOnReturn: false })
  }

  /** Whether the body has ended. */
  async readUpTo(maxBytes: number): Promise<boolean> {
    while (this.length <= maxBytes) {
      const { done, value } = await this.rest.next()
      if (done) return true
      this.chunks.push(value)
      this.length += value.length
    }
    return false
  }

  take(): Uint8Array {
    const { chunks } = this
    this.chunks = []
    return concatBytes(...chunks)
  }

  /** The server passes over what is left. */
  async leave(): Promise<void> {
    this.chunks = []
    await this.rest.return?.()
  }
}
