import type { PeerId } from '@libp2p/interface'
import { describe, expect, it } from 'vitest'
import { type IdentifyingHost, identified } from './identified.ts'
import { parsePeerId } from './multiaddrs.ts'

const ID = parsePeerId('16Uiu2HAm7y9oecxCZUMduLgP2vdBRgeUKRkSnYUd7yR2UNrn5YYc')
const OTHER = parsePeerId('16Uiu2HAmHdhrjY39n4ojNuL2rHgBEPGuHXNPkHkEF3Z7sk8m6nN7')

class FakeHost implements IdentifyingHost {
  readonly listeners = new Set<(event: CustomEvent<{ peerId: PeerId }>) => void>()
  addEventListener(_type: 'peer:identify', listener: (event: CustomEvent<{ peerId: PeerId }>) => void): void {
    this.listeners.add(listener)
  }
  removeEventListener(_type: 'peer:identify', listener: (event: CustomEvent<{ peerId: PeerId }>) => void): void {
    this.listeners.delete(listener)
  }
  tell(peerId: PeerId): void {
    for (const listener of this.listeners) listener(new CustomEvent('peer:identify', { detail: { peerId } }))
  }
}

describe('identified', () => {
  it('waits for this peer', async () => {
    const host = new FakeHost()
    let isDone = false
    const waiting = identified(host, ID, new AbortController().signal).then(() => {
      isDone = true
    })
    host.tell(OTHER)
    await new Promise(setImmediate)
    expect(isDone).toBe(false)
    host.tell(ID)
    await waiting
    expect(host.listeners.size).toBe(0)
  })

  it('waits no longer than its signal', async () => {
    const host = new FakeHost()
    const controller = new AbortController()
    const waiting = identified(host, ID, controller.signal)
    controller.abort()
    await waiting
    expect(host.listeners.size).toBe(0)
    await identified(host, ID, controller.signal)
  })
})
