import type { Clock } from '../../lib/clock.ts'
import { describeError } from '../../lib/errors.ts'
import type { Hex } from '../../lib/hex.ts'
import type { Kzg } from '../../lib/kzg/index.ts'
import type { Logger } from '../../lib/logger.ts'
import { LruMap } from '../../lib/lruMap.ts'
import type { L1BlockRef } from '../../rollup/protocol/types.ts'
import type { BeaconEndpoint } from './beaconEndpoint.ts'
import { checkBlobs } from './checkBlobs.ts'
import { type BeaconEndpointState, createEndpointOrder } from './endpointOrder.ts'
import { BeaconError } from './errors.ts'
import type { SlotClock } from './slotClock.ts'

export interface AwaitedBlobs {
  l1Block: Pick<L1BlockRef, 'number' | 'hash'>
  /** Undefined while no endpoint has reported genesis time and slot length. */
  slot: number | undefined
  /** The missing blobs. */
  versionedHashes: readonly Hex[]
  sinceMs: number
  tries: number
  answers: readonly { url: string; problem: string }[]
}

export interface BeaconStatus {
  waiting: AwaitedBlobs | undefined
  endpoints: readonly BeaconEndpointState[]
}

/** Reads blobs of L1 blocks. Each blob is checked against its versioned hash. */
export interface BeaconClient {
  /**
   * Returns the blobs in the order of the hashes. Rejects with a temporary error while blobs are missing or wrong at
   * all endpoints.
   * Returns undefined if the endpoints have not known the block for several tries: a reorg may have removed it. If a
   * caller requests the same block again, the number of tries doubles each time.
   */
  blobs(block: L1BlockRef, versionedHashes: readonly Hex[]): Promise<Uint8Array[] | undefined>
  /** Fetches blobs that will be requested soon. A failure is reported by the later `blobs` call. */
  prefetch(block: L1BlockRef, versionedHashes: readonly Hex[]): Promise<void>
  status(): BeaconStatus
  close(): Promise<void>
}

export interface BeaconClientModules {
  /** The primary endpoint comes first. */
  endpoints: readonly BeaconEndpoint[]
  slotClock: SlotClock
  kzg: Kzg
  clock: Clock
  logger: Logger
}

/** Cache size in blobs of 131 kB: for prefetched blobs, and for reading again after a reset. */
const CACHED_BLOBS = 256
/**
 * Tries before the block counts as removed by a reorg: a beacon node lags behind its execution client by a second or
 * two.
 */
const TRIES_BEFORE_RESET = 3
/** The limit doubles after each reset that did not help, up to this value. */
const MAX_TRIES_BEFORE_RESET = 48
/** Number of blocks for which tries are counted. */
const REMEMBERED_BLOCKS = 64

interface Trial {
  awaited: AwaitedBlobs
  triesBeforeReset: number
  triesSinceReset: number
}

export function createBeaconClient({ endpoints, slotClock, kzg, clock, logger }: BeaconClientModules): BeaconClient {
  const order = createEndpointOrder(endpoints, clock)
  const cache = new LruMap<Hex, Uint8Array>(CACHED_BLOBS)
  const underway = new Map<Hex, Promise<unknown>>()
  /** Keyed by block and transaction. */
  const trials = new LruMap<string, Trial>(REMEMBERED_BLOCKS)
  const closing = new AbortController()
  let waiting: AwaitedBlobs | undefined

  /** Queries the endpoints one after the other for the missing blobs. */
  const fetchMissing = async (block: L1BlockRef, wanted: readonly Hex[]): Promise<Attempt> => {
    const { signal } = closing
    const slot = await slotClock.slotOf(block, signal)
    const found = new Map<Hex, Uint8Array>()
    const problems: Attempt['problems'] = []
    for (const endpoint of order.ordered()) {
      const missing = wanted.filter((hash) => !found.has(hash))
      if (missing.length === 0) break
      try {
        const given = await checkBlobs(await endpoint.blobs(slot, missing, signal), missing, kzg)
        for (const [hash, blob] of given) found.set(hash, blob)
        if (given.size < missing.length) throw incomplete(given.size, missing.length)
        order.worked(endpoint)
      } catch (error) {
        signal.throwIfAborted()
        if (!(error instanceof BeaconError)) throw error
        problems.push({ endpoint, error })
        const isNews = order.failed(endpoint, error)
        const fields = { url: endpoint.name, l1Block: block.number, slot, err: error.message }
        if (!isNews) logger.debug('Beacon endpoint did not return the blobs', fields)
        else if (error.code === 'beacon-bad-answer') logger.warn('Beacon endpoint returned wrong blobs', fields)
        else logger.info('Beacon endpoint did not return the blobs', fields)
      }
    }
    if (found.size === 0) slotClock.forget()
    for (const [hash, blob] of found) cache.set(hash, blob)
    return { slot, found, problems }
  }

  /** Waits for a running fetch of the same block before it starts another. */
  const collect = async (block: L1BlockRef, hashes: readonly Hex[]) => {
    for (let other = underway.get(block.hash); other !== undefined; other = underway.get(block.hash)) {
      await other.catch(() => {})
    }
    const blobs = new Map<Hex, Uint8Array>()
    for (const hash of hashes) {
      const blob = cache.get(hash)
      if (blob !== undefined) blobs.set(hash, blob)
    }
    const missing = [...new Set(hashes)].filter((hash) => !blobs.has(hash))
    if (missing.length === 0) return { blobs, attempt: undefined }
    const fetching = fetchMissing(block, missing)
    underway.set(block.hash, fetching)
    try {
      const attempt = await fetching
      for (const [hash, blob] of attempt.found) blobs.set(hash, blob)
      return { blobs, attempt }
    } finally {
      if (underway.get(block.hash) === fetching) underway.delete(block.hash)
    }
  }

  const trialOf = (block: L1BlockRef, versionedHashes: readonly Hex[]): Trial => {
    const key = trialKey(block, versionedHashes)
    const known = trials.get(key)
    if (known !== undefined) return known
    const { number, hash } = block
    const sinceMs = clock.now()
    const awaited = { l1Block: { number, hash }, slot: undefined, versionedHashes, sinceMs, tries: 0, answers: [] }
    const trial = { awaited, triesBeforeReset: TRIES_BEFORE_RESET, triesSinceReset: 0 }
    trials.set(key, trial)
    return trial
  }
  /** Counts a failed try. Returns true if the block counts as removed by a reorg. */
  const note = (trial: Trial, change: Partial<AwaitedBlobs>, isNotFound: boolean): boolean => {
    trial.awaited = { ...trial.awaited, ...change, tries: trial.awaited.tries + 1 }
    waiting = trial.awaited
    trial.triesSinceReset += 1
    if (!isNotFound || trial.triesSinceReset < trial.triesBeforeReset) return false
    trial.triesSinceReset = 0
    trial.triesBeforeReset = Math.min(MAX_TRIES_BEFORE_RESET, trial.triesBeforeReset * 2)
    return true
  }

  return {
    async blobs(block, versionedHashes) {
      const trial = trialOf(block, versionedHashes)
      waiting = trial.awaited
      let collected: Awaited<ReturnType<typeof collect>>
      try {
        collected = await collect(block, versionedHashes)
      } catch (error) {
        note(trial, { answers: [{ url: 'every beacon API', problem: describeError(error) }] }, false)
        throw error
      }
      const { blobs, attempt } = collected
      const missing = versionedHashes.filter((hash) => !blobs.has(hash))
      if (missing.length === 0) {
        const { tries, sinceMs } = trial.awaited
        if (tries > 0) {
          const fields = { l1Block: block.number, tries, waitedMs: clock.now() - sinceMs }
          logger.info('Got the blobs of an L1 block', fields)
        }
        trials.delete(trialKey(block, versionedHashes))
        waiting = undefined
        return versionedHashes.map((hash) => blobs.get(hash) ?? new Uint8Array(0))
      }
      const problems = attempt?.problems ?? []
      const answers = problems.map(({ endpoint, error }) => ({ url: endpoint.name, problem: error.message }))
      const isNotFound = problems.some(({ error }) => error.code === 'beacon-not-found')
      if (note(trial, { slot: attempt?.slot, versionedHashes: missing, answers }, isNotFound)) {
        // The reader drops the block, and may not ask again.
        waiting = undefined
        return undefined
      }
      const said = answers.map(({ url, problem }) => `${url}: ${problem}`).join('; ')
      const what = `${missing.length} of ${versionedHashes.length} blobs of L1 block ${block.number}, slot ${attempt?.slot}`
      throw new BeaconError('blobs-missing', `${what}, are missing (${missing[0]}): ${said}`, { severity: 'temporary' })
    },
    async prefetch(block, versionedHashes) {
      try {
        await collect(block, versionedHashes)
      } catch (error) {
        logger.debug('Could not prefetch blobs', { l1Block: block.number, err: describeError(error) })
      }
    },
    status: () => ({ waiting, endpoints: order.states() }),
    async close() {
      closing.abort(new BeaconError('beacon-unreachable', 'the node is stopping'))
      await Promise.all(endpoints.map((endpoint) => endpoint.close()))
    },
  }
}

interface Attempt {
  slot: number
  found: ReadonlyMap<Hex, Uint8Array>
  problems: { endpoint: BeaconEndpoint; error: BeaconError }[]
}

function trialKey(block: L1BlockRef, versionedHashes: readonly Hex[]): string {
  return `${block.hash} ${versionedHashes.join()}`
}

function incomplete(given: number, wanted: number): BeaconError {
  return new BeaconError('beacon-not-found', `has ${given} of ${wanted} blobs`)
}
