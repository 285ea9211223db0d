import { expect, it, onTestFinished } from 'vitest'
import { silentLogger } from '../../src/lib/logger.ts'
import { BeaconService, type BlobMode } from './beaconService.ts'

const BLOB = `0x${'00'.repeat(131_072)}` as const
const CHAIN = { genesisTime: 1_000, secondsPerSlot: 1, slotsPerEpoch: 4, chainId: 900 }
const blobs = { read: async () => [{ versionedHash: `0x01${'aa'.repeat(31)}` as const, blob: BLOB }] }

async function answer(mode: BlobMode): Promise<{ status: number; body: { data?: string[]; message?: string } }> {
  const service = new BeaconService()
  onTestFinished(() => service.close())
  const modules = { blobs, headSlot: async () => 7, logger: silentLogger }
  const { url } = await service.open(modules, CHAIN, { host: '127.0.0.1', port: 0 })
  service.mode = mode
  const response = await fetch(`${url}/eth/v1/beacon/blobs/7`)
  return { status: response.status, body: (await response.json()) as { data?: string[] } }
}

it('serves blobs, errors, or wrong blobs', async () => {
  expect(await answer('on')).toMatchObject({ status: 200, body: { data: [BLOB] } })
  expect(await answer('off')).toMatchObject({
    status: 500,
    body: { message: expect.stringContaining('blobs are off') },
  })
  const { status, body } = await answer('lie')
  expect(status).toBe(200)
  const [other = ''] = body.data ?? []
  expect(other).toHaveLength(BLOB.length)
  // The lowest byte of the first field element changes, so the blob stays valid.
  expect(other.replace(/^0x(00){31}10/, `0x${'00'.repeat(32)}`)).toBe(BLOB)
})
