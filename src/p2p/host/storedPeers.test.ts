import { peerIdFromString } from '@libp2p/peer-id'
import { expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import { createStoredPeers } from './storedPeers.ts'

const PEERS = [
  '16Uiu2HAm5UcGBcvZtAYgnANxy7LGgmsAaC3HoKN8tcuH6Hyr2Er8',
  '16Uiu2HAm7y9oecxCZUMduLgP2vdBRgeUKRkSnYUd7yR2UNrn5YYc',
]

it('reads the peers of the store once a minute, and after a deletion', async () => {
  const clock = new ManualClock(1_000_000)
  let stored = PEERS.slice(0, 1)
  let reads = 0
  let fails = true
  const all = async () => {
    reads++
    if (fails) throw new Error('not open')
    return stored.map((id) => ({ id: peerIdFromString(id) }))
  }
  const peers = createStoredPeers({ clock, peerStore: { all } })
  await expect(peers.ids()).rejects.toThrow('not open')
  fails = false
  const both = await Promise.all([peers.ids(), peers.ids()])
  expect(both.map((ids) => [...ids])).toEqual([stored, stored])
  expect(reads).toBe(2)

  stored = PEERS
  await clock.advance(59_999)
  expect((await peers.ids()).size).toBe(1)
  await clock.advance(1)
  expect([...(await peers.ids())]).toEqual(PEERS)

  stored = []
  expect((await peers.ids()).size).toBe(2)
  peers.changed()
  expect((await peers.ids()).size).toBe(0)
  expect(reads).toBe(4)
})
