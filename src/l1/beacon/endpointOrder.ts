import type { Clock } from '../../lib/clock.ts'
import { exponentialBackoff } from '../../lib/retry.ts'
import type { BeaconEndpoint } from './beaconEndpoint.ts'
import type { BeaconError } from './errors.ts'

/** After a lie: an endpoint that gives wrong blobs has a fault that does not go by itself. */
const LIAR_MS = 300_000
/** While an endpoint does not answer it is tried last. */
const silentMs = exponentialBackoff(2_000, 60_000)
/** How long another one is preferred before the primary is tried first again. */
const PREFERENCE_MS = 60_000

export interface BeaconEndpointState {
  /** Address without what may be secret. */
  url: string
  /** What was wrong with its last answer, and since when. */
  problem?: { message: string; sinceMs: number }
}

/** Which endpoint is asked first: the one that gave blobs last, those in trouble last. */
export interface EndpointOrder {
  ordered(): BeaconEndpoint[]
  worked(endpoint: BeaconEndpoint): void
  /** True when this is news. A block that it does not have is no trouble of the endpoint. */
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
      // The sort keeps the order of those of one rank.
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
        state.avoidUntilMs = clock.now() + LIAR_MS
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
