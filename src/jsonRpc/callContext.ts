import type { Hex } from '../lib/hex.ts'
import type { Pieces } from './pieces.ts'
import { JsonRpcError, RPC_METHOD_NOT_FOUND } from './types.ts'

/** Where notifications go: a connection that stays open. */
export interface Subscriber {
  /**
   * Begins a subscription and returns its id; what `start` is given sends a notification's content, written already. The
   * function that `start` returns is called when it ends. Throws JsonRpcError when the connection has too many.
   */
  subscribe(start: (notify: (content: string | Uint8Array) => void) => () => void): Hex
  /** False when there is no such subscription. */
  unsubscribe(id: Hex): boolean
}

/** For methods that want one; throws geth's error where the client cannot be told of anything later (`rpc/errors.go`). */
export function requireSubscriber({ subscriber }: Pick<RpcContext, 'subscriber'>): Subscriber {
  if (subscriber === undefined) throw new JsonRpcError(RPC_METHOD_NOT_FOUND, 'notifications not supported')
  return subscriber
}

/** What a handler may see of the request besides its parameters. */
export interface RpcContext {
  /** Aborts when the client goes away or the call's time is over. Made when it is first asked for. */
  readonly signal: AbortSignal
  /** Whether the signal has aborted, or would have if it had been asked for. */
  isOver(): boolean
  /** The web page that calls, where it is a stranger's. */
  readonly foreignOrigin?: string | undefined
  /** The client shows no token, where one is needed to change something. */
  readonly lacksToken?: boolean | undefined
  /** Absent where the client cannot be told of anything later. */
  readonly subscriber?: Subscriber | undefined
  /** Absent where an answer leaves as a whole. */
  readonly sendPart?: SendPart | undefined
}

/** Sends the begin of a long answer before its end is there; resolves when the client has read most of it, or the call is over. */
export type SendPart = (part: Pieces) => Promise<void>

export interface CallContextOptions {
  /** From now on. */
  timeoutMs: number
  /** Aborts when the client goes away; asked for only along with the context's own signal. */
  clientGone?: () => AbortSignal
  foreignOrigin?: string | undefined
  lacksToken?: boolean | undefined
  subscriber?: Subscriber | undefined
  sendPart?: SendPart | undefined
}

/** A context for one request; `end` is called when its answer is complete. */
export interface CallContext extends RpcContext {
  end(): void
}

/**
 * Most methods answer at once and never look at the signal. With a timer for each request, which outlives it by a minute, a
 * busy server would hold hundreds of thousands of them: so the clock is read instead, and a timer made where one is needed.
 */
export function createCallContext(options: CallContextOptions): CallContext {
  return new LazyCallContext(options)
}

/** A class: an object of closures takes several times as long to make. */
class LazyCallContext implements CallContext {
  readonly foreignOrigin: string | undefined
  readonly lacksToken: boolean | undefined
  readonly subscriber: Subscriber | undefined
  readonly sendPart: SendPart | undefined
  private readonly overAt: number
  private readonly clientGone: (() => AbortSignal) | undefined
  private made: { signal: AbortSignal; end(): void } | undefined

  constructor({ timeoutMs, clientGone, foreignOrigin, lacksToken, subscriber, sendPart }: CallContextOptions) {
    this.foreignOrigin = foreignOrigin
    this.lacksToken = lacksToken
    this.subscriber = subscriber
    this.sendPart = sendPart
    this.overAt = performance.now() + timeoutMs
    this.clientGone = clientGone
  }

  get signal(): AbortSignal {
    this.made ??= makeSignal(Math.max(0, this.overAt - performance.now()), this.clientGone?.())
    return this.made.signal
  }

  isOver(): boolean {
    return this.made === undefined ? performance.now() >= this.overAt : this.made.signal.aborted
  }

  end(): void {
    this.made?.end()
  }
}

function makeSignal(timeoutMs: number, clientGone: AbortSignal | undefined): { signal: AbortSignal; end(): void } {
  const controller = new AbortController()
  const timeOut = () => controller.abort(new DOMException('the call has had its time', 'TimeoutError'))
  const timer = setTimeout(timeOut, timeoutMs).unref()
  const leave = () => controller.abort(clientGone?.reason)
  if (clientGone?.aborted) leave()
  else clientGone?.addEventListener('abort', leave, { once: true })
  const end = () => {
    clearTimeout(timer)
    clientGone?.removeEventListener('abort', leave)
  }
  return { signal: controller.signal, end }
}
