import { Agent, WebSocket } from 'undici'
import { timeoutSignal } from '../lib/clock.ts'
import { untilAborted } from '../lib/untilAborted.ts'
import {
  bodyOf,
  openCalls,
  parseAnswer,
  type RequestOptions,
  type RpcCall,
  type RpcClient,
  type RpcClientObserver,
  RpcTransportError,
  unwrap,
} from './client.ts'
import { redact, targetOf } from './credentials.ts'
import { JsonRpcError, type JsonValue } from './types.ts'

export interface WebSocketRpcClient extends RpcClient {
  /**
   * Subscribes by a method such as `eth_subscribe`. Calls `unsubscribe` when the signal aborts. `listener` gets the
   * unchecked content of each notification. Rejects if the server refuses, or with RpcTransportError when the
   * connection ends; the caller may then subscribe again.
   */
  subscribe(
    call: RpcCall & { unsubscribe?: string },
    listener: (content: unknown) => void,
    signal: AbortSignal,
  ): Promise<void>
}

export interface WebSocketClientOptions {
  /** User and password of the URL become the handshake's authorization header, unless `headers` has one. */
  url: string
  headers?: Record<string, string>
  timeoutMs?: number
  observer?: RpcClientObserver
}

const DEFAULT_TIMEOUT_MS = 10_000
const CONNECT_TIMEOUT_MS = 10_000

interface Pending {
  resolve(answer: unknown, bytes: number): void
  reject(error: unknown): void
}

interface Connection {
  socket: WebSocket
  pending: Map<unknown, Pending>
  /** Keyed by the server's subscription id. */
  subscriptions: Map<unknown, (content: unknown) => void>
  ended: Promise<RpcTransportError>
  end(what: string): void
}

/**
 * JSON-RPC over one WebSocket. The WebSocket opens with the first call, and reopens with the next call after it has
 * closed. A message longer than 128 MiB (undici's limit), or of too many parts, closes it.
 */
export function createWebSocketRpcClient(options: WebSocketClientOptions): WebSocketRpcClient {
  const { timeoutMs = DEFAULT_TIMEOUT_MS, observer } = options
  const target = targetOf(options.url, options.headers)
  const url = redact(options.url)
  const agent = new Agent({ connect: { timeout: CONNECT_TIMEOUT_MS } })
  let opening: Promise<Connection> | undefined
  let nextId = 1

  const failure = (what: string, cause?: unknown): RpcTransportError =>
    new RpcTransportError('rpc-transport', `${what} (${url})`, cause === undefined ? {} : { cause })

  const connect = async (): Promise<Connection> => {
    const socket = new WebSocket(target.url, { dispatcher: agent, headers: target.headers })
    const pending = new Map<unknown, Pending>()
    const subscriptions = new Map<unknown, (content: unknown) => void>()
    const opened = Promise.withResolvers<void>()
    const ended = Promise.withResolvers<RpcTransportError>()
    let hasEnded = false
    const end = (what: string, cause?: unknown): void => {
      if (hasEnded) return
      hasEnded = true
      clearTimeout(timer)
      opening = undefined
      const error = failure(what, cause)
      opened.reject(error)
      for (const waiting of pending.values()) waiting.reject(error)
      pending.clear()
      ended.resolve(error)
      socket.close()
    }
    const timer = setTimeout(() => end(`no WebSocket within ${CONNECT_TIMEOUT_MS} ms`), CONNECT_TIMEOUT_MS)
    socket.onopen = () => {
      clearTimeout(timer)
      opened.resolve()
    }
    socket.onerror = (event) => end('WebSocket failed', event.error)
    socket.onclose = ({ code }) => end(`WebSocket was closed with code ${code}`)
    socket.onmessage = ({ data }) => {
      try {
        const text = String(data)
        const json = parseAnswer(text, 'message')
        const messages = Array.isArray(json) ? json : [json]
        for (const message of messages) take(message, Math.round(text.length / messages.length))
      } catch (error) {
        end('WebSocket received a message that is not JSON-RPC, or too large', error)
      }
    }
    const take = (message: unknown, bytes: number): void => {
      if (typeof message !== 'object' || message === null) throw new TypeError('not an object')
      if ('id' in message && message.id !== null) {
        pending.get(message.id)?.resolve(message, bytes)
        pending.delete(message.id)
      } else if ('params' in message && typeof message.params === 'object' && message.params !== null) {
        const { subscription, result } = message.params as { subscription?: unknown; result?: unknown }
        subscriptions.get(subscription)?.(result)
      } else if ('error' in message) {
        // The error of a rejected batch has no id, so all pending calls get it.
        for (const waiting of pending.values()) waiting.resolve(message, bytes)
        pending.clear()
      }
    }
    await opened.promise
    return { socket, pending, subscriptions, ended: ended.promise, end }
  }

  const sendAll = async (
    calls: readonly RpcCall[],
    asBatch: boolean,
    { signal, timeoutMs: limitMs = timeoutMs }: RequestOptions = {},
    /** Called at once with the first answer, because notifications may follow directly. */
    onAnswer?: (result: JsonValue | JsonRpcError, connection: Connection) => void,
  ): Promise<(JsonValue | JsonRpcError)[]> => {
    signal?.throwIfAborted()
    const opened = openCalls(calls, () => nextId++, observer)
    const timeout = timeoutSignal(limitMs)
    const over = signal === undefined ? timeout : AbortSignal.any([signal, timeout])
    let connection: Connection | undefined
    const results: (JsonValue | JsonRpcError | undefined)[] = []
    try {
      opening ??= connect()
      const at = await untilAborted(opening, over)
      connection = at
      const answers = opened.map(
        (call, index) =>
          new Promise<void>((resolve, reject) => {
            at.pending.set(call.id, {
              resolve(answer, bytes) {
                const result = unwrap(answer, call.method)
                results[index] = result
                onAnswer?.(result, at)
                call.end(result, bytes)
                resolve()
              },
              reject,
            })
          }),
      )
      at.socket.send(bodyOf(opened, asBatch))
      await untilAborted(Promise.all(answers), over)
      return results.map((result) => result ?? null)
    } catch (error) {
      for (const [index, call] of opened.entries()) {
        connection?.pending.delete(call.id)
        if (results[index] === undefined) call.end(undefined, 0)
      }
      if (!timeout.aborted || error !== timeout.reason) throw error
      // A dead connection does not close by itself. The next call opens a new one.
      connection?.end('WebSocket timed out')
      const what = calls.length === 1 ? calls[0]?.method : `batch of ${calls.length}`
      throw new RpcTransportError('rpc-timeout', `${what}: no answer from ${url} within ${limitMs} ms`)
    }
  }

  return {
    url,
    async request(method, params, requestOptions) {
      const [result] = await sendAll([{ method, params }], false, requestOptions)
      if (result instanceof JsonRpcError) throw result
      return result
    },
    batch: async (calls, requestOptions) => (calls.length === 0 ? [] : sendAll(calls, true, requestOptions)),
    async subscribe(call, listener, signal) {
      let connection: Connection | undefined
      const [id] = await sendAll([call], false, {}, (result, at) => {
        connection = at
        if (!(result instanceof JsonRpcError)) at.subscriptions.set(result, listener)
      })
      if (id instanceof JsonRpcError) throw id
      if (connection === undefined) throw failure(`${call.method}: no answer`)
      const error = await untilAborted(connection.ended, signal).catch(() => undefined)
      connection.subscriptions.delete(id)
      if (error !== undefined) throw error
      const { unsubscribe } = call
      // No caller waits for the answer. A closed connection has no subscriptions.
      if (unsubscribe !== undefined) sendAll([{ method: unsubscribe, params: [id] }], false).catch(() => undefined)
    },
    async close() {
      const connection = await opening?.catch(() => undefined)
      connection?.socket.close()
      await agent.destroy()
    },
  }
}
