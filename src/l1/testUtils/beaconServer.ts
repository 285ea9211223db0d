import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import { type Hex, toHex } from '../../lib/hex.ts'
import { type Kzg, versionedHashOf } from '../../lib/kzg/index.ts'
import { listen } from '../../lib/testUtils/listen.ts'

export interface ServedBlob {
  blob: Uint8Array
  hash: Hex
  commitment: Uint8Array
  proof: Uint8Array
}

/** Replaces the server's answer to a request for blobs; undefined: no fault. */
export type BeaconFault = (response: ServerResponse, slot: number) => void

export interface BeaconServer {
  url: string
  slots: Map<number, ServedBlob[]>
  form: 'blobs' | 'sidecars'
  fault: BeaconFault | undefined
  /** The status code of all answers; undefined: answer normally. */
  busy: () => number | undefined
  /** Whether it returns all blobs of the block, whatever is requested. */
  givesAll: boolean
  requests: { path: string; headers: IncomingHttpHeaders }[]
  /** Undefined: 404. */
  genesisTime: number | undefined
  secondsPerSlot: number | undefined
  spec: Readonly<Record<string, unknown>>
  /** The answer to `node/syncing`; undefined: 404. */
  slotsBehind: number | undefined
  version: string | undefined
  stop(): Promise<void>
}

/** An HTTP beacon server whose behaviour a test controls. */
export async function startBeaconServer(): Promise<BeaconServer> {
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://localhost')
    beacon.requests.push({ path: url.pathname + url.search, headers: request.headers })
    const busyStatus = beacon.busy()
    if (busyStatus !== undefined) return void response.writeHead(busyStatus).end('busy')
    const known: Record<string, object | undefined> = {
      '/eth/v1/node/version': beacon.version === undefined ? undefined : { version: beacon.version },
      '/eth/v1/beacon/genesis':
        beacon.genesisTime === undefined ? undefined : { genesis_time: String(beacon.genesisTime) },
      '/eth/v1/config/spec':
        beacon.secondsPerSlot === undefined
          ? undefined
          : { SECONDS_PER_SLOT: String(beacon.secondsPerSlot), ...beacon.spec },
      '/eth/v1/node/syncing':
        beacon.slotsBehind === undefined ? undefined : { sync_distance: String(beacon.slotsBehind) },
    }
    const data = known[url.pathname]
    if (data !== undefined) return json(response, 200, { data })
    const [, path, slotText] = /^\/eth\/v1\/beacon\/(blobs|blob_sidecars)\/(\d+|head)$/.exec(url.pathname) ?? []
    const slot = Number(slotText)
    if (path !== (beacon.form === 'blobs' ? 'blobs' : 'blob_sidecars')) return json(response, 404, { code: 404 })
    if (beacon.fault !== undefined) return beacon.fault(response, slot)
    const there = slotText === 'head' ? [] : beacon.slots.get(slot)
    if (there === undefined) return json(response, 404, { code: 404, message: 'Block not found' })
    json(response, 200, { data: dataOf(beacon, there, url.searchParams.getAll('versioned_hashes')) })
  })
  const { url, close } = await listen(server)
  const beacon: BeaconServer = {
    url,
    slots: new Map(),
    form: 'blobs',
    fault: undefined,
    busy: () => undefined,
    givesAll: false,
    requests: [],
    genesisTime: 1_000,
    secondsPerSlot: 12,
    spec: {},
    slotsBehind: undefined,
    version: 'test/v1',
    stop: close,
  }
  return beacon
}

export function json(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

function dataOf(beacon: Pick<BeaconServer, 'form' | 'givesAll'>, blobs: ServedBlob[], wanted: string[]): object {
  if (beacon.form === 'sidecars') {
    return blobs.map(({ blob, commitment, proof }, index) => ({
      index: String(index),
      blob: toHex(blob),
      kzg_commitment: toHex(commitment),
      kzg_proof: toHex(proof),
    }))
  }
  return blobs
    .filter(({ hash }) => beacon.givesAll || wanted.length === 0 || wanted.includes(hash))
    .map(({ blob }) => toHex(blob))
}

/** Blobs that differ in one byte, with their commitments, proofs and hashes. */
export async function makeBlobs(kzg: Kzg, count: number): Promise<ServedBlob[]> {
  const blobs = Array.from({ length: count }, (_, index) => {
    const blob = new Uint8Array(131_072)
    blob[1] = index + 1
    return blob
  })
  const commitments = await kzg.commitments(blobs)
  const proofs = await kzg.blobProofs(blobs, commitments)
  return blobs.map((blob, index) => {
    const commitment = commitments[index] ?? new Uint8Array()
    return { blob, commitment, proof: proofs[index] ?? new Uint8Array(), hash: versionedHashOf(commitment) }
  })
}
