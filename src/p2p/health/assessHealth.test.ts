import { expect, it } from 'vitest'
import type { GossipBlock, HealthState, StaticPeerHealth } from '../base/healthReport.ts'
import { assessHealth, type HealthFacts } from './assessHealth.ts'

const NOW = 1_700_000_000_000
const limits = { silentMs: 30_000, graceMs: 60_000 }

const moveAt = (atMs: number) => ({ number: 10, hash: '0x', atMs })
const block = (number: number): GossipBlock => ({ number, hash: '0x', peerID: 'a', atMs: NOW - 60_000 })
const peers = (...connected: boolean[]): StaticPeerHealth[] =>
  connected.map((isConnected) => ({ peerID: 'a', connected: isConnected, sinceMs: 0, failure: null }))
const recent: HealthFacts['recent'] = {
  ...{ seconds: 300, accepted: 0, refused: {} },
  headMoves: { gossip: 0, request: 0, posted: 0, l1: 1, sequencer: 0 },
}
const lastMoves: HealthFacts['lastMoves'] = { gossip: null, request: null, posted: null, l1: null, sequencer: null }

/** A node that has run for long, with a silent mesh peer, while the head moves through L1. */
const SILENT: HealthFacts = {
  ...{ nowMs: NOW, startedMs: NOW - 3_600_000, flow: 0, refusals: 0 },
  ...{ topic: '', connected: 1, subscribers: 1, mesh: 1, staticPeers: [] },
  ...{ lastBlock: block(10), lastRefused: null, recent, head: moveAt(NOW), lastMoves },
  l1Only: { count: 0, sinceMs: null },
}
const nothingByL1 = { recent: { ...recent, headMoves: { ...recent.headMoves, l1: 0 } } }
const l1Only = { flow: 1, lastBlock: block(11), l1Only: { count: 3, sinceMs: NOW - 30_000 } }

it.each<[HealthState, HealthState, Partial<HealthFacts>]>([
  ['gossip-silent', 'ok', {}],
  ['sequencing', 'ok', { lastMoves: { ...lastMoves, sequencer: moveAt(NOW - 29_999) } }],
  ['gossip-silent', 'ok', { lastMoves: { ...lastMoves, sequencer: moveAt(NOW - 30_000) } }],
  // One block keeps a healthy node healthy. A node in trouble needs three.
  ['ok', 'ok', { flow: 1 }],
  ['ok', 'chain-stands-still', { flow: 1 }],
  ['gossip-silent', 'no-mesh', { flow: 2 }],
  ['ok', 'no-mesh', { flow: 3 }],
  ['ok', 'l1-only', { flow: 1 }],
  ['l1-only', 'ok', l1Only],
  ['catching-up', 'ok', { ...l1Only, lastBlock: block(12) }],
  ['ok', 'ok', { ...l1Only, l1Only: { count: 2, sinceMs: NOW - 60_000 } }],
  ['ok', 'ok', { ...l1Only, l1Only: { count: 9, sinceMs: NOW - 29_999 } }],
  ['starting', 'starting', { lastBlock: null, startedMs: NOW - 59_999, connected: 0 }],
  ['no-peers', 'starting', { lastBlock: null, startedMs: NOW - 60_000, connected: 0 }],
  ['no-peers', 'ok', { startedMs: NOW - 1_000, connected: 0 }],
  ['static-peers-down', 'ok', { connected: 0, staticPeers: peers(false, false) }],
  ['static-peers-down', 'ok', { subscribers: 0, staticPeers: peers(false) }],
  ['static-peers-down', 'ok', { staticPeers: peers(false) }],
  ['static-peers-down', 'ok', { staticPeers: peers(false), ...nothingByL1 }],
  ['gossip-silent', 'ok', { staticPeers: peers(false, true) }],
  ['blocks-rejected', 'ok', { staticPeers: peers(false), refusals: 2 }],
  ['no-subscriber', 'ok', { subscribers: 0, staticPeers: peers(false, true) }],
  ['no-subscriber', 'ok', { subscribers: 0 }],
  ['gossip-silent', 'ok', { refusals: 1 }],
  ['blocks-rejected', 'ok', { refusals: 2, subscribers: 0 }],
  ['blocks-rejected', 'starting', { refusals: 2, lastBlock: null, startedMs: NOW - 5_000 }],
  ['starting', 'starting', { refusals: 2, lastBlock: null, startedMs: NOW - 5_000, connected: 0 }],
  ['chain-stands-still', 'ok', { mesh: 0, ...nothingByL1 }],
  ['chain-stands-still', 'ok', { staticPeers: peers(false, true), ...nothingByL1 }],
  ['no-mesh', 'ok', { mesh: 0 }],
])('health is %s, after %s, with %o', (state, previous, changes) => {
  expect(assessHealth({ ...SILENT, ...changes }, previous, limits)).toBe(state)
})
