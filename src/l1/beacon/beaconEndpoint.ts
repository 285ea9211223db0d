import type { Hex } from '../../lib/hex.ts'
import { asArray, asObject, JsonObjectReader, jsonBytes } from '../../lib/jsonReader.ts'
import { KZG_BLOB_BYTES, KZG_POINT_BYTES } from '../../lib/kzg/index.ts'
import type { BeaconHttp } from './beaconHttp.ts'
import { BeaconError } from './errors.ts'

/** A blob from an endpoint, not yet verified. */
export interface GivenBlob {
  blob: Uint8Array
  /**
   * Only in the older sidecar format. Verifying the proof takes a twentieth of the time of computing the commitment.
   */
  sidecar?: { commitment: Uint8Array; proof: Uint8Array }
}

/** One beacon node or blob archive. All methods reject with BeaconError. */
export interface BeaconEndpoint {
  readonly name: string
  /** `eth/v1/node/version` */
  version(signal?: AbortSignal): Promise<string>
  /** Unix time of slot 0. */
  genesisTime(signal?: AbortSignal): Promise<number>
  secondsPerSlot(signal?: AbortSignal): Promise<number>
  /** Blobs of the block at this slot, in any order. Includes at least the requested hashes that the endpoint has. */
  blobs(slot: number, versionedHashes: readonly Hex[], signal?: AbortSignal): Promise<GivenBlob[]>
  close(): Promise<void>
}

/** Parsing an answer with this many blobs holds the event loop for 5 ms. More blobs are split into several requests. */
const BLOBS_OF_ONE_REQUEST = 6

export function createBeaconEndpoint(http: BeaconHttp): BeaconEndpoint {
  /** The format that the endpoint supports; undefined before the first answer. */
  let form: 'blobs' | 'sidecars' | undefined
  let takesOneHash = false

  const data = async (path: string, signal: AbortSignal | undefined): Promise<unknown> =>
    checked(path, (await http.get(path, signal)) as unknown, (answer) => asObject(answer, 'answer').data)

  const bareAt = async (path: string, signal: AbortSignal | undefined): Promise<GivenBlob[]> =>
    checked('blobs', await data(path, signal), (items) =>
      asArray(items, 'data').map((item) => ({ blob: jsonBytes(item, 'blob', KZG_BLOB_BYTES) })),
    )
  const bare = async (slot: number, hashes: readonly Hex[], signal?: AbortSignal): Promise<GivenBlob[]> => {
    const path = `eth/v1/beacon/blobs/${slot}`
    if (!takesOneHash) {
      const parts = await Promise.all(
        chunksOf(hashes, BLOBS_OF_ONE_REQUEST).map((chunk) =>
          bareAt(`${path}?${chunk.map((hash) => `versioned_hashes=${hash}`).join('&')}`, signal),
        ),
      )
      const given = parts.flat()
      if (hashes.length === 1 || given.length >= hashes.length) return given
    }
    // Anvil uses only one of several requested hashes. In this case the client requests all blobs of the block.
    const all = await bareAt(path, signal)
    takesOneHash = all.length >= hashes.length
    return all
  }
  const sidecars = async (slot: number, signal?: AbortSignal): Promise<GivenBlob[]> => {
    const list = await data(`eth/v1/beacon/blob_sidecars/${slot}`, signal)
    return checked('blob_sidecars', list, (items) =>
      asArray(items, 'data').map((item) => {
        const sidecar = new JsonObjectReader(item, 'sidecar')
        return {
          blob: sidecar.bytes('blob', KZG_BLOB_BYTES),
          sidecar: {
            commitment: sidecar.bytes('kzg_commitment', KZG_POINT_BYTES),
            proof: sidecar.bytes('kzg_proof', KZG_POINT_BYTES),
          },
        }
      }),
    )
  }

  return {
    name: http.name,
    async version(signal) {
      const answer = await data('eth/v1/node/version', signal)
      return checked('node/version', answer, (value) => String(asObject(value, 'data').version))
    },
    async genesisTime(signal) {
      const answer = await data('eth/v1/beacon/genesis', signal)
      return checked('beacon/genesis', answer, (value) => decimal(asObject(value, 'data').genesis_time, 'genesis_time'))
    },
    async secondsPerSlot(signal) {
      const answer = await data('eth/v1/config/spec', signal)
      const seconds = checked('config/spec', answer, (value) =>
        decimal(asObject(value, 'data').SECONDS_PER_SLOT, 'SECONDS_PER_SLOT'),
      )
      if (seconds === 0) throw new BeaconError('beacon-bad-answer', 'config/spec: SECONDS_PER_SLOT is 0')
      return seconds
    },
    async blobs(slot, versionedHashes, signal) {
      if (form === 'sidecars') {
        try {
          return await sidecars(slot, signal)
        } catch (error) {
          if (!isMissing(error)) throw error
          // The endpoint may have upgraded: the fork that removed the older format introduced the newer one.
          form = undefined
        }
      }
      try {
        const given = await bare(slot, versionedHashes, signal)
        form = 'blobs'
        return given
      } catch (error) {
        // An old node returns 404 for the new path, as for a missing block.
        if (form === 'blobs' || !isMissing(error)) throw error
        try {
          const given = await sidecars(slot, signal)
          form = 'sidecars'
          return given
        } catch (second) {
          throw isMissing(second) ? error : second
        }
      }
    },
    close: () => http.close(),
  }
}

function chunksOf<T>(items: readonly T[], size: number): T[][] {
  const count = Math.ceil(items.length / size)
  return Array.from({ length: count }, (_, index) => items.slice(index * size, (index + 1) * size))
}

function isMissing(error: unknown): boolean {
  return error instanceof BeaconError && (error.code === 'beacon-not-found' || error.code === 'beacon-unsupported')
}

function checked<T, R>(what: string, value: T, read: (value: T) => R): R {
  try {
    return read(value)
  } catch (cause) {
    if (cause instanceof BeaconError) throw cause
    const message = cause instanceof Error ? cause.message : String(cause)
    throw new BeaconError('beacon-bad-answer', `${what}: ${message}`, { cause })
  }
}

/** The beacon API encodes numbers as decimal text. */
function decimal(value: unknown, what: string): number {
  const number = typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : Number.NaN
  if (!Number.isSafeInteger(number)) throw new BeaconError('beacon-bad-answer', `${what}: expected a decimal number`)
  return number
}
