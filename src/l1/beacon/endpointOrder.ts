import type { Clock } from '../../lib/clock.ts'
import { exponentialBackoff } from '../../lib/retry.ts'
import type { BeaconEndpoint } from './beaconEndpoint.ts'
import type { BeaconError } from './errors.ts'

/** After wrong blobs the endpoint is avoided for this time, because such a fault persists. */
const BAD_DATA_MS = 300_000
/** An endpoint that does not answer is tried last for this time. */
const silentMs = exponentialBackoff(2_000, 60_000)
/** How long a fallback is preferred before the primary endpoint is tried first again. */
const PREFERENCE_MS = 60_000

export interface BeaconEndpointState {
  /** Address without secrets. */
  url: string
  /** The error of its last answer, and since when errors last. */
  problem?: { message: string; sinceMs: number }
}

/** The order in which endpoints are queried: the last successful endpoint first, failing endpoints last. */
export interface EndpointOrder {
  ordered(): BeaconEndpoint[]
  worked(endpoint: BeaconEndpoint): void
  /** Returns true if the failure is new. A missing block does not count as a failure of the endpoint. */
  failed(endpoint: BeaconEndpoint, error: BeaconError): boolean
  states(): BeaconEndpointState[]
}

export function createEndpointOrder(endpoints: readonly BeaconEndpoint[], clock: Clock): EndpointOrder {
  const states = new Map(
    endpoints.map((endpoint) => [endpoint, { failures: 0, avoidUntilMs: 0, problem: '', sinceMs: 0 }]),
  )
  let preferred: { endpoint: BeaconEndpoint; sinceMs: number } | undefined

  const rank = (endpoint: BeaconEndpoint): number => {
    if ((states.get(endpoint)?.avoidUntilMs ?? 0) > clock.now()) return 2
    return preferred?.endpoint === endpoint ? 0 : 1
  }

  return {
    ordered() {
      if (preferred !== undefined && clock.now() - preferred.sinceMs > PREFERENCE_MS) preferred = undefined
      // The sort is stable: endpoints of the same rank keep their order.
      return [...endpoints].sort((a, b) => rank(a) - rank(b))
    },
    worked(endpoint) {
      const state = states.get(endpoint)
      if (state !== undefined) Object.assign(state, { failures: 0, avoidUntilMs: 0, problem: '' })
      if (preferred?.endpoint !== endpoint) preferred = { endpoint, sinceMs: clock.now() }
    },
    failed(endpoint, error) {
      const state = states.get(endpoint)
      if (state === undefined) return false
      if (error.code === 'beacon-unreachable' || error.code === 'beacon-unsupported') {
        state.failures += 1
        state.avoidUntilMs = clock.now() + silentMs(state.failures)
      } else if (error.code === 'beacon-bad-answer') {
        state.avoidUntilMs = clock.now() + BAD_DATA_MS
      }
      if (preferred?.endpoint === endpoint) preferred = undefined
      const isNew = state.problem !== error.message
      if (isNew) Object.assign(state, { problem: error.message, sinceMs: clock.now() })
      return isNew
    },
    states: () =>
      endpoints.map((endpoint) => {
        const { problem = '', sinceMs = 0 } = states.get(endpoint) ?? {}
        return { url: endpoint.name, ...(problem === '' ? {} : { problem: { message: problem, sinceMs } }) }
      }),
  }
}
