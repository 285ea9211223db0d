import { generateKeyPair } from '@libp2p/crypto/keys'
import { peerIdFromPrivateKey } from '@libp2p/peer-id'
import { createLibp2p } from 'libp2p'
import { expect, it, vi } from 'vitest'
import { ManualClock } from '../lib/clock.ts'
import { createStoredRecords } from './storedRecords.ts'

it('rereads a stored record after a change or after a second, and not before', async () => {
  const clock = new ManualClock()
  const host = await createLibp2p({ start: false })
  const id = peerIdFromPrivateKey(await generateKeyPair('secp256k1'))
  await host.peerStore.save(id, { protocols: ['/a'] })
  const get = vi.spyOn(host.peerStore, 'get')
  const records = createStoredRecords(host, { clock })
  const protocols = async () => (await records.of(id.toString()))?.protocols
  expect([await protocols(), await protocols()]).toEqual([['/a'], ['/a']])
  expect(get).toHaveBeenCalledTimes(1)
  await host.peerStore.merge(id, { protocols: ['/b'] })
  expect((await protocols())?.toSorted()).toEqual(['/a', '/b'])
  // The store emits no event for this.
  await host.peerStore.merge(id, { metadata: { AgentVersion: Buffer.from('agent') } })
  await clock.advance(1_000)
  expect(await records.of(id.toString())).toMatchObject({ userAgent: 'agent' })
})

it('returns no record for a peer with another kind of key', async () => {
  const host = await createLibp2p({ start: false })
  const id = peerIdFromPrivateKey(await generateKeyPair('Ed25519'))
  expect(await createStoredRecords(host, { clock: new ManualClock() }).of(id.toString())).toBeUndefined()
})
