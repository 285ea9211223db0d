import { describe, expect, it } from 'vitest'
import type { Events } from '../../../rpc/schemas/events.ts'
import { type Line, textOf } from '../../shared/terminal/styledLine.ts'
import { scoreReport } from '../../testUtils/peerAnswers.ts'
import { watchedPeer } from '../../testUtils/watchedPeer.ts'
import { extentOf, renderWatch } from './watchScreen.ts'
import { applyUpdate, INITIAL_STATE, type WatchState } from './watchState.ts'

const hash = `0x${'ab'.repeat(32)}` as const
const l1 = (number: number) => ({ hash, number, parentHash: hash, timestamp: 900 + number })
const l2 = (number: number) => ({ ...l1(number), l1origin: { hash, number: 1 }, sequenceNumber: 0 })
const heads: Events['heads'] = {
  current_l1: l1(40),
  current_l1_finalized: l1(30),
  head_l1: l1(42),
  safe_l1: l1(35),
  finalized_l1: l1(30),
  unsafe_l2: l2(95),
  safe_l2: l2(90),
  finalized_l2: { ...l2(0), hash: `0x${'0'.repeat(64)}` },
  pending_safe_l2: l2(90),
  queued_unsafe_l2: l2(0),
  engine_sync_target: l2(0),
}
const shown = { url: 'http://127.0.0.1:9545', nowMs: 1_000_000 }
const peers = Array.from({ length: 30 }, (_, index) =>
  watchedPeer({
    id: `16Uiu2HAm5UcGBcvZtAYgnANxy7LGgmsAaC3HoKN8tcuH6Hyr2E${String(index).padStart(2, '0')}`,
    score: index,
  }),
)
const part = (text: string, ok = true) => ({ state: ok ? 'ok' : 'l1-down', ok, text })
const base: WatchState = {
  ...INITIAL_STATE,
  version: 'v0.1.0',
  heads,
  verdict: { state: 'healthy', ok: true, text: 'Sequencer is healthy. It sealed block 95.', causes: [] },
  derivation: part('Every block is safe.'),
  gossip: part('Blocks arrive by gossip.'),
}
const state = [
  { kind: 'peers', peers } as const,
  { kind: 'event', line: { atMs: 60_000, text: '…6Hyr2E00 connected', tone: 'plain' } } as const,
].reduce(applyUpdate, base)
const text = (given: WatchState, columns = 80, rows = 24) =>
  renderWatch(given, { columns, rows }, shown).map(textOf).join('\n')
const styled = (lines: readonly Line[], part: string) =>
  lines
    .flatMap((line) => (typeof line === 'string' ? [] : line))
    .find((span) => typeof span !== 'string' && span.text.includes(part))

describe('renderWatch', () => {
  it('shows health, heads, peers, events and keys', () => {
    const screen = text(state)
    expect(screen).toMatch(/^devium v0\.1\.0 {3}http:\/\/127\.0\.0\.1:9545 .* 00:16:40 UTC\n/)
    expect(screen).toContain('node        Sequencer is healthy. It sealed block 95.')
    expect(screen).toContain('derivation  ok: Every block is safe.')
    expect(screen).toMatch(/block +95 +90 +- +42 +40/)
    expect(screen).toMatch(/age +5 s +10 s +- +58 s +60 s/)
    expect(screen).toContain('peers  30 connected, sorted by score')
    expect(screen).toMatch(/^> {2}…6Hyr2E00 +0 {2}mesh {2}inbound +1\.3 ms .* optimism \/ip4/m)
    expect(screen).toContain('00:01:00  …6Hyr2E00 connected')
    expect(screen.split('\n').at(-1)).toMatch(/^↑ ↓ select .* q quit$/)
    expect(screen).not.toContain('0xabab')
    const large = text(state, 160, 50)
    expect(large).toContain('0xabab…abab')
    expect(large).toContain(peers[29]?.id)
    expect(large).toContain('time in the mesh')
  })

  it.each([
    [80, 24],
    [160, 50],
    [40, 12],
    [20, 3],
    [1, 1],
  ])('fits %i columns and %i rows', (columns, rows) => {
    for (const mode of [state.mode, { kind: 'explain', peerId: 'x', answers: undefined, top: 9 } as const]) {
      const lines = renderWatch({ ...state, mode }, { columns, rows }, shown).map(textOf)
      expect(lines).toHaveLength(rows)
      for (const line of lines) expect(line.length).toBeLessThanOrEqual(columns)
    }
  })

  it('keeps the selected row visible', () => {
    for (const { id } of peers) expect(text({ ...state, selected: id })).toContain(`>  …${id.slice(-8)}`)
  })

  it('colours banned and blocked peers, and unhealthy parts', () => {
    const refused = applyUpdate(base, {
      kind: 'peers',
      peers: [
        watchedPeer({ id: 'first', score: -90 }),
        watchedPeer({ id: 'banned', isConnected: false, ban: { reason: 'score', untilMs: 1_090_000 } }),
        watchedPeer({ id: 'blocked', isBlocked: true }),
      ],
    })
    const lines = renderWatch(
      { ...refused, derivation: part('L1 is silent.', false) },
      { columns: 80, rows: 24 },
      shown,
    )
    expect(lines.map(textOf).join('\n')).toMatch(/banned .* banned for 90 s[\s\S]*blocked .* blocked/)
    expect(lines.map(textOf).join('\n')).toContain('2 connected, 2 blocked or banned')
    expect(styled(lines, 'banned for')).toMatchObject({ style: 'bad' })
    expect(styled(lines, 'derivation')).toMatchObject({ style: 'bad' })
    expect(styled(lines, 'first')).toMatchObject({ style: 'inverse' })
  })

  it('shows that the node does not answer, for how long, and why', () => {
    const lost = applyUpdate(state, { kind: 'lost', atMs: 990_000, problem: 'connection refused' })
    expect(text(lost)).toMatch(/no answer +for 10 s. The data below is from before:\s+connection refused/)
    expect(text(lost)).not.toContain('Every block is safe')
  })

  it('shows the confirmation of a block, and its result', () => {
    const confirming = { ...state, confirming: { verb: 'block', peerId: peers[0]?.id ?? '' } as const }
    expect(text(confirming)).toContain('Block …6Hyr2E00, and close its connections?  y: yes, any other key: no')
    expect(text(applyUpdate(state, { kind: 'done', text: 'it is refused', isRefused: false }))).toContain(
      'it is refused',
    )
  })

  it('explains a peer, with the number of lines below', () => {
    const answers = { score: scoreReport(), history: { peerID: scoreReport().peerID, events: [] } }
    const explaining = { ...state, mode: { kind: 'explain', peerId: scoreReport().peerID, answers, top: 0 } as const }
    expect(text(explaining)).toContain('score 4, main reason: requests answered with good blocks')
    expect(text(explaining, 80, 18)).toMatch(/\(\d+ more lines\)$/)
    const { explanationRows } = extentOf(explaining, { columns: 80, rows: 18 }, shown)
    const end = { ...explaining, mode: { ...explaining.mode, top: explanationRows } }
    expect(text(end, 80, 18)).toContain('no recorded events')
    expect(text(end, 80, 18)).toMatch(/q quit$/)
  })

  it('removes control sequences from texts of peers', () => {
    const evil = '\x1b[2J\x9b31m\u202eagent\u2028\n'
    const answers = {
      score: { ...scoreReport(), mainReason: evil },
      history: { peerID: 'x', events: [{ kind: evil, reason: evil, detail: evil, count: 1, lastMs: 0, score: 0 }] },
    }
    const attacked = [
      { kind: 'peers', peers: [watchedPeer({ agent: evil, address: evil, mainReason: evil })] } as const,
      { kind: 'connected', atMs: 0, version: evil, hasPeers: true } as const,
      {
        kind: 'health',
        ...{ atMs: 0, derivation: part(evil), gossip: part(evil) },
        verdict: { ...part(evil), causes: [{ text: evil, command: evil }] },
      } as const,
      { kind: 'event', line: { atMs: 0, text: evil, tone: 'plain' } } as const,
      { kind: 'done', text: evil, isRefused: true } as const,
    ].reduce(applyUpdate, { ...base, derivation: undefined })
    for (const mode of [attacked.mode, { kind: 'explain', peerId: 'x', answers, top: 0 } as const]) {
      const lines = renderWatch({ ...attacked, mode }, { columns: 160, rows: 50 }, shown).map(textOf)
      expect(lines.join('')).toContain('agent')
      for (const line of lines) expect(line).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
    }
  })
})
