import { createRpcClient } from '../../../jsonRpc/client.ts'
import { type BeaconHttp, createBeaconHttp } from '../../../l1/beacon/beaconHttp.ts'
import { BeaconError, type BeaconOptions } from '../../../l1/index.ts'
import { quantityToBigInt } from '../../../lib/hex.ts'
import { isObject, type JsonObject } from '../../../lib/jsonReader.ts'
import type { BeaconFacts, NamedTime } from './facts.ts'

/** Time limit of each request. */
const TIMEOUT_MS = 10_000
/** The spec's epoch of a fork without date. */
const FAR_FUTURE_EPOCH = 2n ** 64n - 1n
const MAX_FORKS = 64

/** Queries the primary beacon API. `headBlock` is the number of L1's head, by which Anvil finds blobs. */
export async function gatherBeacon(
  { url, headers }: Pick<BeaconOptions, 'url' | 'headers'>,
  headBlock: Promise<number | undefined>,
): Promise<BeaconFacts> {
  const http = createBeaconHttp({ url, headers, timeoutMs: TIMEOUT_MS })
  const name = http.name
  const read = (path: string) => readData(http, path)
  try {
    const genesis = await read('eth/v1/beacon/genesis')
    if (genesis instanceof BeaconError) {
      // An endpoint that did not answer at all is not queried again.
      const isThere = genesis.code !== 'beacon-unreachable' || genesis.details.status !== undefined
      const client = isThere ? await executionClientAt(url, headers ?? {}) : undefined
      const problem =
        client === undefined
          ? ({ code: 'down', text: genesis.message } as const)
          : ({ code: 'wrong-kind', text: `it answers JSON-RPC (${client})` } as const)
      return { url: name, problem, forks: [], blobChanges: [] }
    }
    const [version, spec, syncing] = await Promise.all([
      read('eth/v1/node/version'),
      read('eth/v1/config/spec'),
      read('eth/v1/node/syncing'),
    ])
    const genesisTime = decimal(genesis.genesis_time)
    const specFacts = readSpec(spec, genesisTime ?? 0)
    const block = specFacts.slotLength === null ? await headBlock : 'head'
    return {
      url: name,
      genesisTime,
      version: version instanceof BeaconError ? undefined : String(version.version).slice(0, 100),
      ...specFacts,
      slotsBehind: syncing instanceof BeaconError ? undefined : decimal(syncing.sync_distance),
      serves: block === undefined ? undefined : await servedForm(http, String(block)),
    }
  } finally {
    await http.close()
  }
}

/** Returns the member `data`. An error of the endpoint counts as an answer too. */
async function readData(http: BeaconHttp, path: string): Promise<JsonObject | BeaconError> {
  try {
    const answer = await http.get(path)
    const data = isObject(answer) ? answer.data : undefined
    if (isObject(data)) return data
    return new BeaconError('beacon-bad-answer', `the answer to ${path} is not a beacon API's`)
  } catch (error) {
    if (error instanceof BeaconError) return error
    throw error
  }
}

/** The client's name, if the address serves JSON-RPC. */
async function executionClientAt(url: string, headers: Record<string, string>): Promise<string | undefined> {
  const rpc = createRpcClient({ url, headers, timeoutMs: TIMEOUT_MS, maxResponseBytes: 65_536 })
  try {
    quantityToBigInt(await rpc.request('eth_chainId', []), 'chain id')
    const name = await rpc.request('web3_clientVersion', []).catch(() => 'without a name')
    return String(name).slice(0, 100)
  } catch {
    return undefined
  } finally {
    await rpc.close()
  }
}

function readSpec(spec: JsonObject | BeaconError, genesisTime: number): Omit<BeaconFacts, 'url'> {
  // The endpoint has no slots, as Anvil.
  if (spec instanceof BeaconError) return { slotLength: null, forks: [], blobChanges: [] }
  const slotLength = decimal(spec.SECONDS_PER_SLOT)
  const isSlotKnown = slotLength !== undefined && slotLength > 0
  const milliseconds = decimal(spec.SLOT_DURATION_MS)
  const seconds = isSlotKnown ? slotLength : milliseconds === undefined ? 12 : milliseconds / 1000
  const epochLength = seconds * (decimal(spec.SLOTS_PER_EPOCH) ?? 32)
  const timeOf = (epoch: unknown): number | undefined => {
    const number = decimal(epoch)
    return number === undefined ? undefined : genesisTime + number * epochLength
  }
  const forks = Object.entries(spec).flatMap(([key, epoch]): NamedTime[] => {
    const [, name] = /^([A-Z0-9_]+)_FORK_EPOCH$/.exec(key) ?? []
    const time = timeOf(epoch)
    return name === undefined || time === undefined ? [] : [{ name: name.toLowerCase(), time }]
  })
  const schedule = Array.isArray(spec.BLOB_SCHEDULE) ? spec.BLOB_SCHEDULE : []
  const blobChanges = schedule.slice(0, MAX_FORKS).flatMap((entry: unknown) => {
    const time = isObject(entry) ? timeOf(entry.EPOCH) : undefined
    return time === undefined ? [] : [time]
  })
  const retention = decimal(spec.MIN_EPOCHS_FOR_BLOB_SIDECARS_REQUESTS)
  const chainId = decimal(spec.DEPOSIT_CHAIN_ID)
  return {
    ...(isSlotKnown ? { slotLength } : { lacksSlotLength: true }),
    depositChainId: chainId === undefined ? undefined : BigInt(chainId),
    retentionS: retention === undefined ? undefined : retention * epochLength,
    forks: forks.slice(0, MAX_FORKS),
    blobChanges,
  }
}

/** The path that serves blobs. Undefined if the answers do not show it. */
async function servedForm(http: BeaconHttp, block: string): Promise<BeaconFacts['serves']> {
  const found = async (path: string): Promise<boolean | undefined> => {
    try {
      await http.get(path)
      return true
    } catch (error) {
      if (!(error instanceof BeaconError)) throw error
      return error.code === 'beacon-not-found' || error.code === 'beacon-unsupported' ? false : undefined
    }
  }
  const bare = await found(`eth/v1/beacon/blobs/${block}`)
  if (bare === true) return 'blobs'
  const sidecars = await found(`eth/v1/beacon/blob_sidecars/${block}`)
  if (sidecars === true) return 'sidecars'
  return bare === undefined || sidecars === undefined ? undefined : 'none'
}

/** Parses the decimal text of a beacon API. Undefined if it is not a number, too large, or the far future epoch. */
function decimal(value: unknown): number | undefined {
  const text = typeof value === 'number' ? String(value) : value
  if (typeof text !== 'string' || !/^\d{1,20}$/.test(text) || BigInt(text) === FAR_FUTURE_EPOCH) return undefined
  const number = Number(text)
  return Number.isSafeInteger(number) ? number : undefined
}
