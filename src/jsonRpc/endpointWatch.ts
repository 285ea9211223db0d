import type { Clock } from '../lib/clock.ts'
import type { RpcClientObserver } from './client.ts'
import { redact } from './credentials.ts'

/** Whether an endpoint answers. */
export interface EndpointState {
  /** Address without secrets. */
  url: string
  /** Unix time in milliseconds of the last answer, including JSON-RPC errors; undefined before the first answer. */
  answeredAtMs: number | undefined
  /** Since when no call has been answered, including a pending call that hangs; undefined while calls are answered. */
  silentSinceMs: number | undefined
  /** Number of unanswered calls since then. */
  failures: number
}

/** A longer call means that the endpoint hangs rather than that it is busy. */
const HUNG_MS = 5_000

/** A client observer that tracks whether the endpoint answers. It forwards all calls to `next`. */
export function createEndpointWatch(
  { url, clock }: { url: string; clock: Clock },
  next?: RpcClientObserver,
): { observer: RpcClientObserver; state(): EndpointState } {
  const state: EndpointState = { url: redact(url), answeredAtMs: undefined, silentSinceMs: undefined, failures: 0 }
  /** Pending calls, and since when none of them has been answered. */
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
