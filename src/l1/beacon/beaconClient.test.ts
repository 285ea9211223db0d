import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import { toHex } from '../../lib/hex.ts'
import { kzg } from '../../lib/kzg/testUtils/kzgInTest.ts'
import { createLogger, silentLogger } from '../../lib/logger.ts'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { createInstantClock } from '../../lib/testUtils/instantClock.ts'
import { WAIT_LIMIT_MS } from '../../lib/testUtils/until.ts'
import type { L1BlockRef } from '../../rollup/protocol/types.ts'
import { type BeaconServer, json, makeBlobs, type ServedBlob, startBeaconServer } from '../testUtils/beaconServer.ts'
import { type BeaconOptions, createBeacon } from './createBeacon.ts'

let blobs: ServedBlob[]
beforeAll(async () => {
  blobs = await makeBlobs(kzg, 4)
})

/** The block at slot 5 of the servers. */
const block: L1BlockRef = {
  number: 100,
  hash: `0x${'aa'.repeat(32)}`,
  parentHash: `0x${'bb'.repeat(32)}`,
  timestamp: 1_060,
}
const hashesOf = (...indices: number[]) => indices.map((index) => at(index).hash)
const bytesOf = (...indices: number[]) => indices.map((index) => at(index).blob)

function at(index: number): ServedBlob {
  const blob = blobs[index]
  if (blob === undefined) throw new Error(`no blob ${index}`)
  return blob
}

async function startServer(change: Partial<BeaconServer> = {}): Promise<BeaconServer> {
  const server = await startBeaconServer()
  onTestFinished(server.stop)
  return Object.assign(server, change)
}

function clientOf(servers: readonly BeaconServer[], options: Partial<BeaconOptions> = {}) {
  const lines: string[] = []
  const logger = createLogger({ level: 'info', format: 'logfmt', color: false, write: (line) => lines.push(line) })
  const clock = new ManualClock()
  const [url = '', ...fallbackUrls] = servers.map((server) => server.url)
  const { client, checkVersion } = createBeacon({ kzg, clock, logger }, { url, fallbackUrls, ...options })
  onTestFinished(client.close)
  return { client, checkVersion, clock, lines }
}

const blobRequests = (server: BeaconServer) => server.requests.filter(({ path }) => path.includes('/blob'))

describe('blobs of a beacon node', () => {
  it('are returned in the order of their hashes, whatever the order of the answer', async () => {
    const server = await startServer({ slots: new Map([[5, blobs]]) })
    const { client } = clientOf([server])
    expect(await client.blobs(block, hashesOf(2, 0, 2))).toEqual(bytesOf(2, 0, 2))
    expect(blobRequests(server).map(({ path }) => path)).toEqual([
      `/eth/v1/beacon/blobs/5?versioned_hashes=${at(2).hash}&versioned_hashes=${at(0).hash}`,
    ])
    server.givesAll = true
    expect(await client.blobs(block, hashesOf(3, 2, 1))).toEqual(bytesOf(3, 2, 1))
  })

  it('are requested six at a time', async () => {
    const many = await makeBlobs(kzg, 14)
    const server = await startServer({ slots: new Map([[5, many]]) })
    const { client } = clientOf([server])
    const got = await client.blobs(
      block,
      many.map(({ hash }) => hash),
    )
    expect(got).toEqual(many.map(({ blob }) => blob))
    expect(blobRequests(server).map(({ path }) => path.match(/versioned_hashes/g)?.length)).toEqual([6, 6, 2])
  })

  it('are requested once', async () => {
    const server = await startServer({ slots: new Map([[5, blobs]]) })
    const { client } = clientOf([server])
    const ahead = client.prefetch(block, hashesOf(0, 1))
    expect(await client.blobs(block, hashesOf(0))).toEqual(bytesOf(0))
    await ahead
    expect(await client.blobs(block, hashesOf(1, 0))).toEqual(bytesOf(1, 0))
    expect(blobRequests(server).length).toBe(1)
  })

  it('are read by their proofs from a node with only the older endpoint', async () => {
    const server = await startServer({
      form: 'sidecars',
      slots: new Map([
        [5, blobs],
        [6, blobs],
      ]),
    })
    const { client } = clientOf([server])
    expect(await client.blobs(block, hashesOf(1, 0))).toEqual(bytesOf(1, 0))
    expect(await client.blobs({ ...block, timestamp: 1_072 }, hashesOf(3))).toEqual(bytesOf(3))
    const paths = blobRequests(server).map(({ path }) => path.replace(/\?.*/, ''))
    expect(paths).toEqual([
      '/eth/v1/beacon/blobs/5',
      '/eth/v1/beacon/blob_sidecars/5',
      '/eth/v1/beacon/blob_sidecars/6',
    ])
    // The endpoint's fork activates.
    server.form = 'blobs'
    expect(await client.blobs(block, hashesOf(2))).toEqual(bytesOf(2))
  })

  it('of the older endpoint are refused if a proof is invalid', async () => {
    const wrong = [{ ...at(0), blob: at(1).blob }]
    const server = await startServer({ form: 'sidecars', slots: new Map([[5, wrong]]) })
    const { client } = clientOf([server])
    await expect(client.blobs(block, hashesOf(0))).rejects.toMatchObject({
      severity: 'temporary',
      code: 'blobs-missing',
      message: expect.stringContaining('commitment'),
    })
  })

  it('are requested with the header at the primary endpoint only', async () => {
    const primary = await startServer()
    const fallback = await startServer({ slots: new Map([[5, blobs]]) })
    const { client } = clientOf([primary, fallback], { headers: { 'x-key': 'secret' } })
    expect(await client.blobs(block, hashesOf(0))).toEqual(bytesOf(0))
    expect(primary.requests.length).toBeGreaterThan(2)
    expect(primary.requests.map(({ headers }) => headers['x-key'])).toEqual(primary.requests.map(() => 'secret'))
    expect(fallback.requests.map(({ headers }) => headers['x-key'])).toEqual([undefined])
  })
})

describe('slots', () => {
  it.each([
    ['earlier', 976],
    ['later', 2_000],
  ])(
    'are computed again if an endpoint reported the %s genesis time of another network',
    async (_name, genesisTime) => {
      const primary = await startServer({ genesisTime: undefined, slots: new Map([[5, blobs]]) })
      const foreign = await startServer({ genesisTime })
      const { client } = clientOf([primary, foreign])
      await expect(client.blobs(block, hashesOf(0))).rejects.toThrow()
      primary.genesisTime = 1_000
      expect(await client.blobs(block, hashesOf(0))).toEqual(bytesOf(0))
    },
  )

  it('use the configured length without a request', async () => {
    const server = await startServer({ slots: new Map([[30, blobs]]) })
    const { client } = clientOf([server], { slotDurationOverrideS: 2 })
    expect(await client.blobs(block, hashesOf(0))).toEqual(bytesOf(0))
    expect(server.requests.map(({ path }) => path)).not.toContain('/eth/v1/config/spec')
  })

  it('are requested again after a failure, also at the next endpoint', async () => {
    const silent = await startServer({ genesisTime: undefined })
    const { client } = clientOf([silent])
    await expect(client.blobs(block, hashesOf(0))).rejects.toMatchObject({ code: 'beacon-unreachable' })
    expect(client.status().waiting).toMatchObject({ slot: undefined, tries: 1 })
    silent.genesisTime = 1_000
    silent.slots.set(5, blobs)
    expect(await client.blobs(block, hashesOf(0))).toEqual(bytesOf(0))
    expect(client.status().waiting).toBeUndefined()

    silent.secondsPerSlot = undefined
    const other = await startServer({ slots: new Map([[5, blobs]]) })
    expect(await clientOf([silent, other]).client.blobs(block, hashesOf(0))).toEqual(bytesOf(0))
  })

  it.each([
    ['0 seconds', { secondsPerSlot: 0 }, ['beacon-unreachable', 'SECONDS_PER_SLOT', 0]],
    ['a genesis to come', { genesisTime: 1_061 }, ['beacon-bad-answer', 1_060, 1_061]],
  ] as const)('are not guessed: %s', async (_, change, [code, ...named]) => {
    const server = await startServer({ slots: new Map([[5, blobs]]), ...change })
    await expect(clientOf([server]).client.blobs(block, hashesOf(0))).rejects.toThrow(errorWith(code, ...named))
    expect(blobRequests(server)).toEqual([])
  })
})

describe('a beacon node that lags', () => {
  it('is queried again, and then the block counts as missing, with fewer queries each time', async () => {
    const server = await startServer()
    const { client, lines } = clientOf([server])
    const answers = []
    for (let i = 0; i < 12; i++) {
      answers.push(await client.blobs(block, hashesOf(0)).catch((error: { code: string }) => error.code))
      expect(client.status().waiting === undefined).toBe(answers.at(-1) === undefined)
    }
    expect(
      answers.map((answer) => (answer === undefined ? 'gone' : answer === 'blobs-missing' ? '-' : answer)).join(' '),
    ).toBe('- - gone - - - - - gone - - -')
    expect(client.status().waiting).toMatchObject({
      l1Block: { number: 100, hash: block.hash },
      slot: 5,
      versionedHashes: hashesOf(0),
      tries: 12,
      answers: [{ url: server.url, problem: 'HTTP 404: {"code":404,"message":"Block not found"}' }],
    })
    server.slots.set(5, blobs)
    expect(await client.blobs(block, hashesOf(0))).toEqual(bytesOf(0))
    expect(client.status().waiting).toBeUndefined()
    // One line for the outage, one for its end.
    expect(lines.filter((line) => line.includes('lvl=') || line.includes('level=')).length).toBe(lines.length)
    expect(lines.filter((line) => line.includes('did not return the blobs')).length).toBe(1)
    expect(lines.filter((line) => line.includes('Got the blobs')).length).toBe(1)
  })

  it('counts failures for each transaction of a block separately', async () => {
    const server = await startServer({ slots: new Map([[5, [at(0)]]]) })
    const { client } = clientOf([server])
    const answers = []
    for (let i = 0; i < 3; i++) {
      expect(await client.blobs(block, hashesOf(0))).toEqual(bytesOf(0))
      answers.push(await client.blobs(block, hashesOf(1)).catch(() => 'missing'))
    }
    expect(answers).toEqual(['missing', 'missing', undefined])
  })

  it('has its missing blobs requested from another node', async () => {
    const half = await startServer({ slots: new Map([[5, [at(0)]]]) })
    const whole = await startServer({ slots: new Map([[5, blobs]]) })
    const { client } = clientOf([half, whole])
    expect(await client.blobs(block, hashesOf(1, 0))).toEqual(bytesOf(1, 0))
    expect(blobRequests(whole).map(({ path }) => path)).toEqual([
      `/eth/v1/beacon/blobs/5?versioned_hashes=${at(1).hash}`,
    ])
    // The endpoint might accept only one hash.
    expect(blobRequests(half).map(({ path }) => path.replace(/=.*/, ''))).toEqual([
      '/eth/v1/beacon/blobs/5?versioned_hashes',
      '/eth/v1/beacon/blobs/5',
    ])
  })
})

describe('a beacon node that lies', () => {
  it('is named in the log, and the client switches to another node', async () => {
    const liar = await startServer()
    liar.fault = (response) => json(response, 200, { data: [toHex(at(3).blob)] })
    const honest = await startServer({ slots: new Map([[5, blobs]]) })
    const { client, clock, lines } = clientOf([liar, honest])
    expect(await client.blobs(block, hashesOf(0))).toEqual(bytesOf(0))
    expect(lines.filter((line) => line.includes('returned wrong blobs')).join()).toContain(liar.url)
    expect(client.status().endpoints).toMatchObject([
      { url: liar.url, problem: { message: expect.stringContaining(at(3).hash) } },
      { url: honest.url },
    ])
    const requestsBefore = liar.requests.length
    expect(await client.blobs(block, hashesOf(1))).toEqual(bytesOf(1))
    // A single failure of the other endpoint does not change its place: it comes last.
    await clock.advance(61_000)
    expect(await client.blobs(block, hashesOf(2))).toEqual(bytesOf(2))
    expect(liar.requests.length).toBe(requestsBefore)
    await clock.advance(300_000)
    liar.fault = undefined
    liar.slots.set(5, blobs)
    expect(await client.blobs(block, hashesOf(3))).toEqual(bytesOf(3))
    expect(liar.requests.length).toBe(requestsBefore + 1)
  })

  it.each<[string, (server: BeaconServer) => NonNullable<BeaconServer['fault']>]>([
    ['no blob at all', () => (response) => json(response, 200, { data: ['0x1234'] })],
    ['a field element too large', () => (response) => json(response, 200, { data: [`0x${'ff'.repeat(131_072)}`] })],
    ['no list', () => (response) => json(response, 200, { data: {} })],
    ['no JSON', () => (response) => void response.end('<html>')],
    ['one blob for another', () => (response) => json(response, 200, { data: [toHex(at(1).blob)] })],
    ['an error', () => (response) => json(response, 500, { code: 500, message: 'internal' })],
    [
      'a cut answer',
      () => (response) => {
        response.writeHead(200, { 'content-length': '300000' }).write('{"data":["0x')
        setImmediate(() => response.destroy())
      },
    ],
    ['nothing', () => () => {}],
    [
      'without end',
      () => (response) => {
        response.writeHead(200)
        const more = () => {
          while (!response.destroyed && response.write('0'.repeat(65_536)));
        }
        response.on('drain', more)
        more()
      },
    ],
  ])('a broken answer is temporary and does not delay the others: %s', async (kind, fault) => {
    const timeoutMs = kind === 'nothing' ? 1_000 : WAIT_LIMIT_MS
    const bad = await startServer()
    bad.fault = fault(bad)
    const { client } = clientOf([bad], { timeoutMs, maxResponseBytes: 1_000_000 })
    await expect(client.blobs(block, hashesOf(0))).rejects.toMatchObject({
      code: 'blobs-missing',
      severity: 'temporary',
    })
    const good = await startServer({ slots: new Map([[5, blobs]]) })
    const both = clientOf([bad, good], { timeoutMs, maxResponseBytes: 1_000_000 })
    expect(await both.client.blobs(block, hashesOf(0))).toEqual(bytesOf(0))
  })

  it('a missing block requires a 404', async () => {
    const server = await startServer()
    server.fault = (response) => json(response, 503, {})
    const { client } = clientOf([server])
    for (let i = 0; i < 8; i++)
      await expect(client.blobs(block, hashesOf(0))).rejects.toMatchObject({ code: 'blobs-missing' })
  })
})

describe('the choice of endpoint', () => {
  it('stays with a working endpoint for a minute, then returns to the primary', async () => {
    const primary = await startServer()
    const archive = await startServer({ slots: new Map([[5, blobs]]) })
    const { client, clock } = clientOf([primary, archive])
    expect(await client.blobs(block, hashesOf(0))).toEqual(bytesOf(0))
    expect(await client.blobs(block, hashesOf(1))).toEqual(bytesOf(1))
    expect(blobRequests(primary).length).toBe(2)
    primary.slots.set(5, blobs)
    await clock.advance(61_000)
    expect(await client.blobs(block, hashesOf(2))).toEqual(bytesOf(2))
    expect(blobRequests(archive).length).toBe(2)
  })

  it('avoids a failed endpoint for some time', async () => {
    const primary = await startServer()
    primary.fault = (response) => json(response, 502, {})
    const other = await startServer({ slots: new Map([[5, blobs]]) })
    const { client, clock } = clientOf([primary, other])
    expect(await client.blobs(block, hashesOf(0))).toEqual(bytesOf(0))
    await clock.advance(1_000)
    expect(await client.blobs(block, hashesOf(1))).toEqual(bytesOf(1))
    expect(blobRequests(primary).length).toBe(1)
  })
})

describe('the check at the start', () => {
  const checkOf = (server: BeaconServer): Promise<void> => {
    const modules = { kzg, clock: createInstantClock(), logger: silentLogger }
    const { client, checkVersion } = createBeacon(modules, { url: server.url })
    onTestFinished(client.close)
    return checkVersion(new AbortController().signal)
  }
  const requestCount = (server: BeaconServer): number =>
    server.requests.filter(({ path }) => path.endsWith('version')).length

  it('requests the version for ten seconds', async () => {
    const server = await startServer()
    await checkOf(server)
    expect(requestCount(server)).toBe(1)
    server.version = undefined
    server.genesisTime = undefined
    await expect(checkOf(server)).rejects.toThrow(errorWith('usage', '--l1.beacon', server.url, 404))
    // Requests at 0, 0.5, 1.5, 3.5, 7.5 and 11.5 s.
    expect(requestCount(server)).toBe(1 + 6)
  })

  it.each([429, 503])('repeats the request for a minute after HTTP %i', async (status) => {
    const server = await startServer()
    server.busy = () => (requestCount(server) < 18 ? status : undefined)
    await checkOf(server)
    expect(requestCount(server)).toBe(18)
    server.busy = () => status
    await expect(checkOf(server)).rejects.toThrow(errorWith('usage', '--l1.beacon', status))
    // Every 4 s after 7.5 s.
    expect(requestCount(server)).toBe(18 + 19)
  })
})
