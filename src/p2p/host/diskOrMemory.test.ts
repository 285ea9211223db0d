import { join } from 'node:path'
import { generateKeyPair } from '@libp2p/crypto/keys'
import { peerIdFromPrivateKey } from '@libp2p/peer-id'
import { multiaddr } from '@multiformats/multiaddr'
import { ClassicLevel } from 'classic-level'
import { type Datastore, Key } from 'interface-datastore'
import { createLibp2p } from 'libp2p'
import { expect, it, onTestFinished, vi } from 'vitest'
import { systemClock } from '../../lib/clock.ts'
import { silentLogger } from '../../lib/logger.ts'
import { until } from '../../lib/testUtils/until.ts'
import { folderInTest, nodeInTest } from '../testUtils/inTest.ts'
import { openPeerDatastore } from './peerStore.ts'

const [a, b, c, d] = [new Key('/peers/ba'), new Key('/peers/bb'), new Key('/peers/bc'), new Key('/peers/bd')]

async function openStore(given?: string) {
  const path = given ?? join(await folderInTest(), 'store')
  const lines: string[] = []
  const logger = { ...silentLogger, error: (text: string) => lines.push(text) }
  const { datastore, close } = await openPeerDatastore(path, { clock: systemClock, logger })
  if (datastore === undefined) throw new Error('not on disk')
  onTestFinished(close)
  return { path, datastore, close, lines }
}

/** Makes all writes fail, as on a full disk. Returns a function that ends this. */
function fillDisk(): () => void {
  const full = new Error('No space left on device')
  const spies = (['put', 'del', 'batch'] as const).map((write) =>
    vi.spyOn(ClassicLevel.prototype, write).mockRejectedValue(full),
  )
  const empty = () => spies.map((spy) => spy.mockRestore())
  onTestFinished(() => void empty())
  return () => void empty()
}

async function stored(datastore: Pick<Datastore, 'query'>): Promise<Record<string, number[]>> {
  const found: Record<string, number[]> = {}
  for await (const { key, value } of datastore.query({ prefix: '/peers' })) found[key.toString()] = [...value]
  return found
}

it('a store on a full disk continues in memory, logs it once, and has the old entries after a restart', async () => {
  const { path, datastore, close, lines } = await openStore()
  await datastore.put(a, Uint8Array.of(1))
  await datastore.put(b, Uint8Array.of(1))
  const empty = fillDisk()

  await Promise.all([datastore.put(a, Uint8Array.of(2)), datastore.put(c, Uint8Array.of(2)), datastore.delete(b)])
  const batch = datastore.batch()
  batch.put(d, Uint8Array.of(2))
  batch.delete(c)
  await batch.commit()
  expect(await stored(datastore)).toEqual({ [`${a}`]: [2], [`${d}`]: [2] })
  expect([...(await datastore.get(d))]).toEqual([2])
  expect([await datastore.has(a), await datastore.has(b)]).toEqual([true, false])
  await expect(datastore.get(b)).rejects.toMatchObject({ name: 'NotFoundError' })

  // Its log may end in a partial record. Later records would not be found.
  empty()
  await datastore.put(c, Uint8Array.of(3))
  expect(lines).toEqual([expect.stringContaining('Peer store')])
  await close()
  const again = await openStore(path)
  expect(await stored(again.datastore)).toEqual({ [`${a}`]: [1], [`${b}`]: [1] })
})

it('a closed store refuses writes, without a log line', async () => {
  const { datastore, close, lines } = await openStore()
  await close()
  await expect(datastore.put(a, Uint8Array.of(1))).rejects.toThrow('not open')
  expect(lines).toEqual([])
})

it('merging keeps the known facts of a peer, and deleting removes them', async () => {
  const { datastore } = await openStore()
  const { peerStore } = await createLibp2p({ start: false, datastore })
  const peerId = peerIdFromPrivateKey(await generateKeyPair('secp256k1'))
  const address = { multiaddr: multiaddr('/ip4/203.0.113.7/tcp/9222'), isCertified: false }
  await peerStore.save(peerId, { addresses: [address], protocols: ['/meshsub/1.1.0'] })
  const given = new AbortController()
  const noted = peerStore.merge(peerId, { protocols: ['/ipfs/ping/1.0.0'] }, { signal: given.signal })
  given.abort()
  await noted.catch(() => {})
  expect(await peerStore.get(peerId)).toMatchObject({
    addresses: [address],
    protocols: expect.arrayContaining(['/meshsub/1.1.0']),
  })
})

it('a node adds peers to its mesh while the disk is full', async () => {
  const first = await nodeInTest({ peerStorePath: join(await folderInTest(), 'store') })
  fillDisk()
  await nodeInTest({ staticPeers: [first.address] })
  await until('a peer in the mesh', () => first.node.meshSize() === 1)
})
