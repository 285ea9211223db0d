import type { Clock } from '../lib/clock.ts'
import type { RpcClientObserver } from './client.ts'
import { redact } from './credentials.ts'

/** How an endpoint answers. */
export interface EndpointState {
  /** Address without what may be secret. */
  url: string
  /** Unix milliseconds of the last answer, an error of JSON-RPC included; undefined before the first. */
  answeredAtMs: number | undefined
  /** Since when no call has been answered, one under way for long included; undefined while calls are. */
  silentSinceMs: number | undefined
  /** Calls that were not answered since then. */
  failures: number
}

/** A call that takes longer has met an endpoint that hangs, and not only one that is busy. */
const HUNG_MS = 5_000

/** An observer of a client that knows whether its endpoint answers; what it hears is passed on to `next`. */
export function createEndpointWatch(
  { url, clock }: { url: string; clock: Clock },
  next?: RpcClientObserver,
): { observer: RpcClientObserver; state(): EndpointState } {
  const state: EndpointState = { url: redact(url), answeredAtMs: undefined, silentSinceMs: undefined, failures: 0 }
  /** Calls under way, and since when none of them was answered. */
  let pending = 0
  let waitingSinceMs = 0
  return {
    state() {
      const isHung = pending > 0 && clock.now() - waitingSinceMs >= HUNG_MS
      return { ...state, silentSinceMs: state.silentSinceMs ?? (isHung ? waitingSinceMs : undefined) }
    },
    observer: {
      onRequest(method, bytes) {
        next?.onRequest(method, bytes)
        if (pending++ === 0) waitingSinceMs = clock.now()
      },
      onEnd(method, seconds, answer) {
        next?.onEnd(method, seconds, answer)
        pending--
        if (answer !== undefined) {
          state.answeredAtMs = clock.now()
          state.silentSinceMs = undefined
          state.failures = 0
          waitingSinceMs = clock.now()
          return
        }
        state.failures++
        state.silentSinceMs ??= clock.now()
      },
    },
  }
}
