import type { IncomingMessage } from 'node:http'
import type { HttpBindings } from '@hono/node-server'
import type { Context, MiddlewareHandler, Next } from 'hono'
import { concatBytes } from '../lib/bytes.ts'
import { createSemaphore } from '../lib/semaphore.ts'

/**
 * While it is processed, a body of megabytes takes several times its size in memory. The server therefore reads one
 * large body of unauthenticated clients at a time. The other bodies wait in their sockets.
 */
export const LARGE_BODY_BYTES = 256 * 1024
const MAX_WAITING_BODIES = 64

export interface CallEnv {
  Bindings: HttpBindings
  Variables: { body: Uint8Array }
}

/**
 * Reads the body of a call. Responds 413 to a body longer than `maxBytes`. Responds 503 to a large body if too many
 * are already waiting.
 */
export function readBody(maxBytes: number, maxLargeAtOnce = 1): MiddlewareHandler<CallEnv> {
  const largeBodies = createSemaphore(maxLargeAtOnce)
  const shortBytes = Math.min(LARGE_BODY_BYTES, maxBytes)
  return async (context, next) => {
    const { 'content-length': announced } = context.env.incoming.headers
    if (Number(announced) > maxBytes) return tooLarge(context)
    try {
      if (announced === undefined || Number(announced) > shortBytes) return await readLong(context, next)
      context.set('body', await readShort(context.env.incoming))
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
    // A chunked body shows its length only while it is read.
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

/** The request's own `text()` watches more events. Without them, a small call takes a tenth less time (`bench:rpc`). */
function readShort(incoming: IncomingMessage): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  return new Promise((resolve, reject) => {
    incoming.on('data', (chunk) => chunks.push(chunk))
    incoming.once('end', () => resolve(concatBytes(...chunks)))
    incoming.once('error', reject)
  })
}

class LongBody {
  private chunks: Uint8Array[] = []
  private length = 0
  private readonly rest: NodeJS.AsyncIterator<Uint8Array>

  constructor(incoming: IncomingMessage) {
    this.rest = incoming.iterator({ destroyOnReturn: false })
  }

  /** Returns whether the body has ended. */
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

  /** Drops the chunks and lets the server skip the rest. */
  async leave(): Promise<void> {
    this.chunks = []
    await this.rest.return?.()
  }
}
