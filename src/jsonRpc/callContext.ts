import type { Hex } from '../lib/hex.ts'
import type { BodyChunks } from './bodyChunks.ts'
import { JsonRpcError, RPC_METHOD_NOT_FOUND } from './types.ts'

/** Receives notifications: a connection that stays open. */
export interface Subscriber {
  /**
   * Starts a subscription and returns its id. `start` gets a function that sends the content of one notification, as
   * JSON text. The function that `start` returns is called when the subscription ends. Throws JsonRpcError if the
   * connection has too many subscriptions.
   */
  subscribe(start: (notify: (content: string | Uint8Array) => void) => () => void): Hex
  /** Returns false if the subscription does not exist. */
  unsubscribe(id: Hex): boolean
}

/**
 * Returns the subscriber. Throws geth's error if the client's transport cannot receive notifications (`rpc/errors.go`).
 */
export function requireSubscriber({ subscriber }: Pick<RpcContext, 'subscriber'>): Subscriber {
  if (subscriber === undefined) throw new JsonRpcError(RPC_METHOD_NOT_FOUND, 'notifications not supported')
  return subscriber
}

/** The part of a request that a handler sees, in addition to the parameters. */
export interface RpcContext {
  /** Aborts when the client disconnects or the call times out. Created on first access. */
  readonly signal: AbortSignal
  /** Whether the signal has aborted, or would have aborted if it existed. */
  isOver(): boolean
  /** The calling web page's origin, if the page is not trusted. */
  readonly foreignOrigin?: string | undefined
  /** True if the client has no token but needs one to change something. */
  readonly lacksToken?: boolean | undefined
  /** Absent if the client's transport cannot receive notifications. */
  readonly subscriber?: Subscriber | undefined
  /** Absent if an answer must be sent as a whole. */
  readonly sendPart?: SendPart | undefined
}

/**
 * Sends the first part of a long answer before the rest exists. Resolves when the client has read most of it, or when
 * the call is over.
 */
export type SendPart = (part: BodyChunks) => Promise<void>

export interface CallContextOptions {
  /** Counted from now. */
  timeoutMs: number
  /** Aborts when the client disconnects. Called only when the context's own signal is created. */
  clientDisconnected?: () => AbortSignal
  foreignOrigin?: string | undefined
  lacksToken?: boolean | undefined
  subscriber?: Subscriber | undefined
  sendPart?: SendPart | undefined
}

/** The context of one request. Call `end` when the answer is complete. */
export interface CallContext extends RpcContext {
  end(): void
}

/**
 * Most methods answer at once and never use the signal. A timer for each request would outlive the request by up to a
 * minute. A busy server would then hold hundreds of thousands of timers. So the context compares the clock, and creates
 * a timer only with the signal.
 */
export function createCallContext(options: CallContextOptions): CallContext {
  return new LazyCallContext(options)
}

/** A class, because an object of closures takes several times as long to create. */
class LazyCallContext implements CallContext {
  readonly foreignOrigin: string | undefined
  readonly lacksToken: boolean | undefined
  readonly subscriber: Subscriber | undefined
  readonly sendPart: SendPart | undefined
  private readonly overAt: number
  private readonly clientDisconnected: (() => AbortSignal) | undefined
  private made: { signal: AbortSignal; end(): void } | undefined

  constructor({ timeoutMs, clientDisconnected, foreignOrigin, lacksToken, subscriber, sendPart }: CallContextOptions) {
    this.foreignOrigin = foreignOrigin
    this.lacksToken = lacksToken
    this.subscriber = subscriber
    this.sendPart = sendPart
    this.overAt = performance.now() + timeoutMs
    this.clientDisconnected = clientDisconnected
  }

  get signal(): AbortSignal {
    this.made ??= makeSignal(Math.max(0, this.overAt - performance.now()), this.clientDisconnected?.())
    return this.made.signal
  }

  isOver(): boolean {
    return this.made === undefined ? performance.now() >= this.overAt : this.made.signal.aborted
  }

  end(): void {
    this.made?.end()
  }
}

function makeSignal(
  timeoutMs: number,
  clientDisconnected: AbortSignal | undefined,
): { signal: AbortSignal; end(): void } {
  const controller = new AbortController()
  const timeOut = () => controller.abort(new DOMException('the call has timed out', 'TimeoutError'))
  const timer = setTimeout(timeOut, timeoutMs).unref()
  const leave = () => controller.abort(clientDisconnected?.reason)
  if (clientDisconnected?.aborted) leave()
  else clientDisconnected?.addEventListener('abort', leave, { once: true })
  const end = () => {
    clearTimeout(timer)
    clientDisconnected?.removeEventListener('abort', leave)
  }
  return { signal: controller.signal, end }
}
