import { describe, expect, it } from 'vitest'
import type { HealthReport } from '../../../p2p/index.ts'
import { formatHealth } from './healthView.ts'

const PEER = '16Uiu2HAm5UcGBcvZtAYgnANxy7LGgmsAaC3HoKN8tcuH6Hyr2Er8'
const NOW_MS = 1_700_000_000_000
const hash = `0x${'ab'.repeat(32)}`
const REPORT: HealthReport = {
  state: 'static-peers-down',
  ok: false,
  sinceMs: NOW_MS - 60_000,
  text: 'the static peer is not connected',
  topic: '/optimism/901/2/blocks',
  connected: 0,
  subscribers: 0,
  mesh: 0,
  staticPeers: [
    {
      peerID: PEER,
      connected: false,
      sinceMs: NOW_MS - 100_000,
      failure: { reason: 'refused', text: 'connection refused', atMs: NOW_MS - 2_000 },
    },
  ],
  otherChains: [],
  lastBlock: { number: 40, hash, peerID: PEER, atMs: NOW_MS - 100_000 },
  lastRefused: { reason: 'wrong-signer', detail: '0xaa', number: 41, hash, peerID: PEER, atMs: NOW_MS - 90_000 },
  recent: {
    seconds: 300,
    accepted: 12,
    refused: { 'wrong-signer': 1 },
    headMoves: { gossip: 12, request: 0, posted: 0, l1: 5, sequencer: 0 },
  },
  head: { number: 45, hash, atMs: NOW_MS - 3_000 },
  lastMoves: {
    gossip: { number: 40, hash, atMs: NOW_MS - 100_000 },
    request: null,
    posted: null,
    l1: { number: 45, hash, atMs: NOW_MS - 3_000 },
    sequencer: null,
  },
  l1Only: { count: 5, sinceMs: NOW_MS - 80_000 },
}

describe('formatHealth', () => {
  it('shows the summary first, then the facts', () => {
    expect(formatHealth(REPORT, NOW_MS)).toBe(
      `gossip: static-peers-down, for 60 s
the static peer is not connected

topic         /optimism/901/2/blocks
peers         0 connected, 0 on the topic, 0 in the mesh
last block    40 0xabab…abab from ${PEER}, 100 s ago
last refused  wrong-signer (0xaa) block 41 from ${PEER}, 90 s ago
last 5 min    12 blocks accepted, refused: wrong-signer 1
unsafe head   45, 3 s ago

head advanced by  last 5 min  number  hash         time
gossip                    12      40  0xabab…abab  100 s ago
l1                         5      45  0xabab…abab  3 s ago

static peer                                            state                   last failure
${PEER}  disconnected for 100 s  connection refused, 2 s ago`,
    )
  })

  it('fits 80 columns', () => {
    const text = formatHealth(REPORT, NOW_MS, 80)
    for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(80)
    expect(text).toContain(
      '\nstatic peer  state                   last failure\n…6Hyr2Er8    disconnected for 100 s  connection refused, 2 s ago',
    )
  })

  it('omits empty parts', () => {
    const text = formatHealth(
      {
        ...REPORT,
        staticPeers: [],
        lastBlock: null,
        lastRefused: null,
        head: null,
        lastMoves: { gossip: null, request: null, posted: null, l1: null, sequencer: null },
      },
      NOW_MS,
    )
    expect(text).toContain('last block    none received by gossip')
    expect(text).toContain('unsafe head   unknown')
    expect(text).not.toContain('static peer  ')
    expect(text).not.toContain('head advanced by')
  })

  it('removes control sequences from texts of peers', () => {
    const text = formatHealth(
      {
        ...REPORT,
        text: 'closed: \u001b[2J',
        staticPeers: REPORT.staticPeers.map((peer) => ({
          ...peer,
          failure: { reason: 'closed', text: 'bye\n\u001b[2J', atMs: NOW_MS },
        })),
      },
      NOW_MS,
    )
    expect(text).not.toContain('\u001b')
    expect(text).toContain('bye??[2J, 0 s ago')
  })
})
