import type { Clock } from '../clock.ts'
import { type RpcClientObserver, redact } from './client.ts'

/** How an endpoint answers. */
export interface EndpointState {
  /** Address without what may be secret. */
  url: string
  /** Unix milliseconds of the last answer, an error of JSON-RPC included; undefined before the first. */
  answeredAtMs: number | undefined
  /** Since when no call has been answered; undefined while calls are. */
  silentSinceMs: number | undefined
  /** Calls that were not answered since then. */
  failures: number
}

/** An observer of a client that knows whether its endpoint answers; what it hears is passed on to `next`. */
export function createEndpointWatch(
  { url, clock }: { url: string; clock: Clock },
  next?: RpcClientObserver,
): { observer: RpcClientObserver; state(): EndpointState } {
  const state: EndpointState = { url: redact(url), answeredAtMs: undefined, silentSinceMs: undefined, failures: 0 }
  return {
    state: () => ({ ...state }),
    observer: {
      onRequest: (method, bytes) => next?.onRequest(method, bytes),
      onEnd(method, seconds, answer) {
        next?.onEnd(method, seconds, answer)
        if (answer !== undefined) {
          state.answeredAtMs = clock.now()
          state.silentSinceMs = undefined
          state.failures = 0
          return
        }
        state.failures++
        state.silentSinceMs ??= clock.now()
      },
    },
  }
}
