import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { silentLogger } from '../../../src/lib/logger.ts'
import { createBeaconApp } from './beaconApp.ts'
import { BlobStore, type StoredBlob } from './blobStore.ts'

const stored = (byte: string): StoredBlob => ({
  versionedHash: `0x01${byte.repeat(31)}`,
  blob: `0x${byte.repeat(131_072)}`,
})
const blobs = [stored('aa'), stored('bb'), stored('cc')]

async function appInTest() {
  const directory = mkdtempSync(join(tmpdir(), 'devium-blobs-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const store = new BlobStore(join(directory, 'blobs'))
  await store.write(7, blobs)
  const chain = { genesisTime: 1_000, secondsPerSlot: 2, slotsPerEpoch: 4, chainId: 900 }
  let head = 7
  const app = createBeaconApp({ blobs: store, headSlot: async () => head, logger: silentLogger }, chain)
  const moveHead = (slot: number) => {
    head = slot
  }
  const get = async (path: string) => {
    const response = await app.request(path)
    return { status: response.status, body: (await response.json()) as { data?: unknown } }
  }
  return { get, moveHead, directory }
}

it('serves the genesis time and the slot length', async () => {
  const { get } = await appInTest()
  expect(await get('/eth/v1/beacon/genesis')).toEqual({ status: 200, body: { data: { genesis_time: '1000' } } })
  expect(await get('/eth/v1/config/spec')).toMatchObject({
    body: { data: { SECONDS_PER_SLOT: '2', DEPOSIT_CHAIN_ID: '900' } },
  })
  expect(await get('/eth/v1/node/version')).toMatchObject({ body: { data: { version: 'devium-testnet' } } })
  expect(await get('/eth/v1/node/syncing')).toMatchObject({ body: { data: { sync_distance: '0' } } })
})

it('returns the blobs of a slot in order, all or the requested ones', async () => {
  const { get } = await appInTest()
  const path = '/eth/v1/beacon/blobs/7'
  const [a, b, c] = blobs.map(({ blob }) => blob)
  const [ha, , hc] = blobs.map(({ versionedHash }) => versionedHash)
  expect((await get(path)).body.data).toEqual([a, b, c])
  expect((await get(`${path}?versioned_hashes=${hc}&versioned_hashes=${ha}`)).body.data).toEqual([a, c])
  expect((await get(`${path}?versioned_hashes=${ha},${hc}`)).body.data).toEqual([a, c])
})

it('returns the blobs of the head, which may have none', async () => {
  const { get, moveHead } = await appInTest()
  expect((await get('/eth/v1/beacon/blobs/head')).body.data).toHaveLength(3)
  moveHead(8)
  expect((await get('/eth/v1/beacon/blobs/head')).body.data).toEqual([])
})

it('answers 404 for an empty slot and for unknown paths', async () => {
  const { get } = await appInTest()
  for (const path of ['blobs/8', 'blobs/genesis', 'blobs/..%2F7', 'blob_sidecars/7']) {
    expect((await get(`/eth/v1/beacon/${path}`)).status, path).toBe(404)
  }
})

it('reports a file that it cannot read', async () => {
  const { get, directory } = await appInTest()
  writeFileSync(join(directory, 'blobs', '7.json.gz'), 'damaged')
  expect(await get('/eth/v1/beacon/blobs/7')).toEqual({
    status: 500,
    body: { code: 500, message: 'incorrect header check' },
  })
})
