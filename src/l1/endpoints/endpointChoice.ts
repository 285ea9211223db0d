import type { Clock } from '../../lib/clock.ts'
import { exponentialBackoff } from '../../lib/retry.ts'

export interface L1EndpointState {
  /** Address without secrets. */
  url: string
  active: boolean
  /** The problem, and since when it lasts. */
  problem?: { message: string; sinceMs: number }
}

/** Decides which endpoint gets a request first. The first configured endpoint is preferred while it is healthy. */
export interface EndpointChoice {
  readonly active: number
  /**
   * The active endpoint, then the healthy ones, then the rest, each group in the configured order. Excluded endpoints
   * are missing.
   */
  order(): number[]
  worked(index: number): void
  /** The endpoint failed or did not answer. A single failure is tolerated. */
  failed(index: number, message: string): void
  /** The endpoint returned data that fail verification. It is not used for BAD_DATA_MS. */
  sentBadData(index: number, message: string): void
  /** The endpoint's head is older than the heads of others. */
  lags(index: number, message: string): void
  /** Do not use the endpoint until it is included: it may be of another chain. */
  exclude(index: number, message: string): void
  include(index: number): void
  /** A head check succeeded. After two in a row, requests return to this endpoint from a less preferred one. */
  foundHealthy(index: number): void
  states(): L1EndpointState[]
}

/** Failures in a row after which requests switch to another endpoint. */
const FAILURES_TO_LEAVE = 2
const BAD_DATA_MS = 300_000
const LAG_MS = 60_000
const failedMs = exponentialBackoff(10_000, 300_000)
/** Successful head checks in a row before requests return to an endpoint. */
const CHECKS_TO_RETURN = 2

export type ChoiceEvent =
  | { kind: 'left'; from: number; to: number; why: string }
  | { kind: 'returned'; from: number; to: number }

export function createEndpointChoice(
  urls: readonly string[],
  { clock, onChange }: { clock: Clock; onChange: (event: ChoiceEvent) => void },
): EndpointChoice {
  const endpoints = urls.map((url) => ({
    url,
    failuresInRow: 0,
    timesLeft: 0,
    avoidUntilMs: 0,
    healthyChecks: 0,
    isExcluded: false,
    problem: undefined as { message: string; sinceMs: number } | undefined,
  }))
  let active = 0

  const at = (index: number): (typeof endpoints)[number] => {
    const endpoint = endpoints[index]
    if (endpoint === undefined) throw new RangeError(`no L1 endpoint ${index}`)
    return endpoint
  }
  const isAvoided = (index: number): boolean => at(index).isExcluded || at(index).avoidUntilMs > clock.now()
  const rank = (index: number): number => (index === active ? 0 : isAvoided(index) ? 2 : 1)
  const order = (): number[] =>
    endpoints
      .map((_, index) => index)
      .filter((index) => !at(index).isExcluded)
      .sort((a, b) => rank(a) - rank(b) || a - b)

  const leave = (index: number, forMs: number, message: string): void => {
    const endpoint = at(index)
    endpoint.avoidUntilMs = clock.now() + forMs
    endpoint.healthyChecks = 0
    if (index !== active) return
    const next = order().find((other) => other !== index && !isAvoided(other))
    if (next === undefined) return
    active = next
    onChange({ kind: 'left', from: index, to: next, why: message })
  }
  const note = (index: number, message: string): void => {
    const endpoint = at(index)
    endpoint.healthyChecks = 0
    if (endpoint.problem?.message !== message) endpoint.problem = { message, sinceMs: clock.now() }
  }

  return {
    get active() {
      return active
    },
    order,
    worked(index) {
      const endpoint = at(index)
      endpoint.failuresInRow = 0
      if (isAvoided(index)) return
      endpoint.problem = undefined
      endpoint.timesLeft = 0
    },
    failed(index, message) {
      const endpoint = at(index)
      note(index, message)
      endpoint.failuresInRow += 1
      // Concurrent calls all fail at once, but count as one failure.
      if (endpoint.failuresInRow < FAILURES_TO_LEAVE || isAvoided(index)) return
      endpoint.timesLeft += 1
      leave(index, failedMs(endpoint.timesLeft), message)
    },
    sentBadData(index, message) {
      note(index, message)
      leave(index, BAD_DATA_MS, message)
    },
    lags(index, message) {
      note(index, message)
      leave(index, LAG_MS, message)
    },
    exclude(index, message) {
      const endpoint = at(index)
      note(index, message)
      endpoint.isExcluded = true
      leave(index, 0, message)
    },
    include(index) {
      at(index).isExcluded = false
    },
    foundHealthy(index) {
      const endpoint = at(index)
      if (isAvoided(index)) return
      endpoint.problem = undefined
      endpoint.healthyChecks += 1
      if (index >= active || endpoint.healthyChecks < CHECKS_TO_RETURN) return
      const from = active
      active = index
      onChange({ kind: 'returned', from, to: index })
    },
    states: () =>
      endpoints.map(({ url, problem }, index) => ({
        url,
        active: index === active,
        ...(problem === undefined ? {} : { problem }),
      })),
  }
}
