import { type Clock, sleep } from '../../lib/clock.ts'
import { describeError, UsageError } from '../../lib/errors.ts'
import { BUSY_TIMEOUT_MS, isBusyStatus, STARTING_TIMEOUT_MS } from '../../lib/httpStatus.ts'
import type { Kzg } from '../../lib/kzg/index.ts'
import type { Logger } from '../../lib/logger.ts'
import { exponentialBackoff } from '../../lib/retry.ts'
import { type BeaconClient, createBeaconClient } from './beaconClient.ts'
import { type BeaconEndpoint, createBeaconEndpoint } from './beaconEndpoint.ts'
import { type BeaconHttpOptions, createBeaconHttp } from './beaconHttp.ts'
import { BeaconError } from './errors.ts'
import { createSlotClock } from './slotClock.ts'

export interface BeaconOptions {
  /** `--l1.beacon` */
  url: string
  /** `--l1.beacon-header`. Sent to the primary endpoint only: a fallback may belong to another operator. */
  headers?: Record<string, string>
  /** `--l1.beacon-fallbacks` */
  fallbackUrls?: readonly string[]
  /** `--l1.beacon.slot-duration-override`; 0 = the value of the beacon chain. */
  slotDurationOverrideS?: number
  timeoutMs?: number
  maxResponseBytes?: number
}

export interface Beacon {
  client: BeaconClient
  /**
   * Requests the version of the primary endpoint, as op-node does at startup. Throws UsageError if no version arrives.
   */
  checkVersion(signal: AbortSignal): Promise<void>
}

const versionBackoffMs = exponentialBackoff(500, 4_000)

/** A server without a clear answer may still be starting. */
function timeLimitMs(error: unknown): number {
  const { status, timedOut } = error instanceof BeaconError ? error.details : {}
  return timedOut === true || isBusyStatus(status) ? BUSY_TIMEOUT_MS : STARTING_TIMEOUT_MS
}

export function createBeacon(modules: { kzg: Kzg; clock: Clock; logger: Logger }, options: BeaconOptions): Beacon {
  const { clock, logger } = modules
  const { url, headers, fallbackUrls = [], timeoutMs, maxResponseBytes } = options
  const endpointAt = (http: BeaconHttpOptions): BeaconEndpoint =>
    createBeaconEndpoint(createBeaconHttp({ ...http, timeoutMs, maxResponseBytes }))
  const primary = endpointAt({ url, headers })
  const endpoints = [primary, ...fallbackUrls.map((fallback) => endpointAt({ url: fallback }))]
  const slotClock = createSlotClock({ endpoints, logger }, { durationOverrideS: options.slotDurationOverrideS ?? 0 })

  const versionOf = async (signal: AbortSignal): Promise<string> => {
    try {
      return await primary.version(signal)
    } catch (error) {
      if (!(error instanceof BeaconError) || error.code !== 'beacon-not-found') throw error
      // Anvil does not serve the version, but it serves blobs.
      await primary.genesisTime(signal)
      return 'none'
    }
  }

  return {
    client: createBeaconClient({ ...modules, endpoints, slotClock }),
    async checkVersion(signal) {
      const startedAt = clock.now()
      for (let attempt = 1; ; attempt++) {
        try {
          const version = await versionOf(signal)
          logger.info('Connected to the L1 beacon API', { url: primary.name, version })
          return
        } catch (cause) {
          signal.throwIfAborted()
          if (clock.now() - startedAt >= timeLimitMs(cause)) {
            const message = `cannot reach the L1 beacon API (--l1.beacon) at ${primary.name}: ${describeError(cause)}; --l1.beacon.ignore runs without this check`
            throw new UsageError(message, { cause })
          }
          if (attempt === 1) {
            logger.info('Waiting for the L1 beacon API to answer', { url: primary.name, err: describeError(cause) })
          }
          await sleep(clock, versionBackoffMs(attempt), signal)
        }
      }
    },
  }
}
