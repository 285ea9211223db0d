import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generateKeyPair } from '@libp2p/crypto/keys'
import { peerIdFromPrivateKey } from '@libp2p/peer-id'
import { multiaddr } from '@multiformats/multiaddr'
import { ClassicLevel } from 'classic-level'
import { LevelDatastore } from 'datastore-level'
import { type Datastore, Key } from 'interface-datastore'
import { createLibp2p } from 'libp2p'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { nodeInTest } from '../testUtils/inTest.ts'
import { until } from '../testUtils/testNode.ts'
import { keepUnwritten } from './unwritten.ts'

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'devium-unwritten-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  return folder
}

async function stored(datastore: Pick<Datastore, 'query'>): Promise<Record<string, number[]>> {
  const found: Record<string, number[]> = {}
  for await (const { key, value } of datastore.query({ prefix: '/peers' })) found[key.toString()] = [...value]
  return found
}

describe('keepUnwritten', () => {
  const [a, b, c] = [new Key('/peers/a'), new Key('/peers/b'), new Key('/peers/c')]

  it('reads as written what the disk does not take, and writes it as soon as it does', async () => {
    const datastore = new LevelDatastore(await newFolder())
    await datastore.open()
    onTestFinished(() => datastore.close())
    const onDisk = { query: datastore.query.bind(datastore) }
    keepUnwritten(datastore)
    await datastore.put(a, Uint8Array.of(1))
    await datastore.put(b, Uint8Array.of(1))
    expect(await stored(onDisk)).toEqual({ '/peers/a': [1], '/peers/b': [1] })

    const full = vi.spyOn(datastore.db, 'batch').mockRejectedValue(new Error('No space left on device'))
    await datastore.put(a, Uint8Array.of(2))
    await datastore.put(b, Uint8Array.of(2))
    await datastore.put(c, Uint8Array.of(2))
    await datastore.delete(b)
    expect(await datastore.get(a)).toEqual(Uint8Array.of(2))
    expect(await stored(datastore)).toEqual({ '/peers/a': [2], '/peers/b': [1], '/peers/c': [2] })
    await datastore.delete(c)
    await expect((async () => datastore.get(c))()).rejects.toMatchObject({ name: 'NotFoundError' })
    expect(await stored(onDisk)).toEqual({ '/peers/a': [1], '/peers/b': [1] })

    full.mockRestore()
    await datastore.put(c, Uint8Array.of(3))
    expect(await stored(onDisk)).toEqual({ '/peers/a': [2], '/peers/b': [1], '/peers/c': [3] })
    const removal = datastore.delete(b)
    await expect((async () => datastore.get(b))()).rejects.toMatchObject({ name: 'NotFoundError' })
    await removal
    expect(await stored(onDisk)).toEqual({ '/peers/a': [2], '/peers/c': [3] })
  })

  it('keeps what is known of a peer when something more is noted, and given up', async () => {
    const datastore = new LevelDatastore(await newFolder())
    await datastore.open()
    onTestFinished(() => datastore.close())
    keepUnwritten(datastore)
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

  it('lets peers into the mesh while the disk is full', async () => {
    const first = await nodeInTest({ peerStorePath: join(await newFolder(), 'store') })
    const full = new Error('No space left on device')
    for (const write of ['put', 'batch'] as const) {
      const spy = vi.spyOn(ClassicLevel.prototype, write).mockRejectedValue(full)
      onTestFinished(() => spy.mockRestore())
    }
    await nodeInTest({ staticPeers: [first.address] })
    await until('a peer in the mesh', () => first.node.meshSize() === 1)
  })
})
