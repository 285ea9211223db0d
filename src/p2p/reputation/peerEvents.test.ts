import { describe, expect, it } from 'vitest'
import { silentLogger } from '../../lib/logger.ts'
import { createP2pEvents, type P2pEvents } from '../base/events.ts'
import { testBlock, testConfig } from '../testUtils/testChain.ts'
import { recordPeerEvents } from './peerEvents.ts'
import type { NewPeerEvent } from './peerHistory.ts'

/** The history entries that the emitted events cause. */
function recorded(happen: (emit: P2pEvents['emit']) => void): NewPeerEvent[] {
  const found: NewPeerEvent[] = []
  const events = createP2pEvents({ logger: silentLogger })
  recordPeerEvents({ record: (peer, event) => void (peer === 'peer' && found.push(event)) }, events)
  happen(events.emit)
  return found
}
const block = { number: 5, hash: '0x12' } as const

describe('recordPeerEvents', () => {
  it('records every verdict except an accepted block', () => {
    const events = recorded((emit) => {
      emit('verdict', 'peer', 3, { result: 'accept', envelope: testBlock(testConfig()) })
      emit('verdict', 'peer', 3, { result: 'reject', reason: 'wrong-hash', detail: 'is 0x34', block })
      emit('verdict', 'peer', 4, { result: 'ignore', reason: 'already-seen' })
      emit('rejectedAgain', 'peer', 2, { result: 'reject', reason: 'wrong-hash', block })
      emit('author', 'peer', 1)
    })
    expect(events).toEqual([
      { kind: 'reject', reason: 'wrong-hash', detail: 'is 0x34', block, topics: [3] },
      { kind: 'ignore', reason: 'already-seen', topics: [4] },
      { kind: 'reject', reason: 'wrong-hash', block, topics: [2] },
      { kind: 'reject', reason: 'author', topics: [1] },
    ])
  })

  it('records misbehaviour under our own name if there is one', () => {
    const events = recorded((emit) => {
      emit('penalty', 'peer', 'graft_backoff')
      emit('penalty', 'peer', 'broken_promise')
      emit('penalty', 'peer', 'another')
      emit('offence', 'peer', 'flood', 2, '90 messages')
      emit('offence', 'peer', 'flood', 2)
    })
    expect(events).toEqual([
      { kind: 'behaviour', reason: 'graft-too-soon' },
      { kind: 'behaviour', reason: 'broken-promise' },
      { kind: 'behaviour', reason: 'another' },
      { kind: 'behaviour', reason: 'flood', detail: '90 messages' },
      { kind: 'behaviour', reason: 'flood' },
    ])
  })

  it('records the results of requests', () => {
    const events = recorded((emit) => {
      emit('response', 'peer', 'validResponses')
      emit('response', 'peer', 'errorResponses', 'timeout')
      emit('response', 'peer', 'rejectedPayloads')
    })
    expect(events).toEqual([
      { kind: 'response', reason: 'valid-block' },
      { kind: 'response', reason: 'failed', detail: 'timeout' },
      { kind: 'response', reason: 'false-block' },
    ])
  })

  it('records connections, mesh changes and decisions of the operator', () => {
    const events = recorded((emit) => {
      emit('connected', 'peer', '/ip4/1.2.3.4/tcp/1', 'inbound')
      emit('mesh', 'graft', 'peer', 3, 'by-peer')
      emit('disconnected', 'peer', { by: 'us', cause: 'banned' })
      emit('disconnected', 'peer', { by: 'peer', cause: 'reset' })
      emit('banned', 'peer', { reason: 'score -101', expiryMs: 0 })
      emit('unbanned', 'peer', 'lifted')
      emit('blockListChanged', 'block', { peerID: 'peer' })
      emit('blockListChanged', 'block', { ip: '1.2.3.4' })
    })
    expect(events).toEqual([
      { kind: 'connected', reason: 'inbound', detail: '/ip4/1.2.3.4/tcp/1' },
      { kind: 'graft', reason: 'by-peer', topics: [3] },
      { kind: 'disconnected', reason: 'by-us', detail: 'banned' },
      { kind: 'disconnected', reason: 'by-peer', detail: 'reset' },
      { kind: 'ban', reason: 'score', detail: 'score -101; until 1970-01-01T00:00:00.000Z' },
      { kind: 'unban', reason: 'lifted' },
      { kind: 'block', reason: 'operator' },
    ])
  })
})
