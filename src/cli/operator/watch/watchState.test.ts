import { describe, expect, it } from 'vitest'
import type { Key } from '../../shared/terminal/keys.ts'
import { watchedPeer } from '../../testUtils/watchedPeer.ts'
import { banEventLine, derivationEventLine, peerEventLine } from './eventLines.ts'
import { pressKey } from './watchKeys.ts'
import { applyUpdate, INITIAL_STATE, type NodeUpdate, type WatchState } from './watchState.ts'

const after = (...updates: NodeUpdate[]): WatchState => updates.reduce(applyUpdate, INITIAL_STATE)
const [A, B, C] = [
  watchedPeer({ id: 'a', score: 3, latencyMs: 9, agent: 'x' }),
  watchedPeer({ id: 'b', score: -2, latencyMs: undefined, agent: 'z' }),
  watchedPeer({ id: 'c', score: 3, latencyMs: 20, agent: 'y' }),
]
const PEERS: NodeUpdate = { kind: 'peers', peers: [C, A, B] }
const ids = ({ peers }: WatchState) => peers.map(({ id }) => id).join('')
const press = (state: WatchState, ...keys: Key[]) => {
  const commands: unknown[] = []
  for (const key of keys) {
    const pressed = pressKey(state, key, { pageRows: 2, explanationRows: 5 })
    state = pressed.state
    if (pressed.command !== undefined) commands.push(pressed.command)
  }
  return { state, commands }
}

describe('updates from the node', () => {
  it('sort peers, and keep the selected peer', () => {
    const state = after(PEERS)
    expect(ids(state)).toBe('bac')
    expect(state.selected).toBe('b')
    const moved = applyUpdate(press(state, 'down').state, { kind: 'scores', scores: { a: 5, unknown: 1 } })
    expect(ids(moved)).toBe('bca')
    expect(moved.selected).toBe('a')
    expect(applyUpdate(moved, { kind: 'peers', peers: [B, C] }).selected).toBe('b')
    expect(applyUpdate(moved, { kind: 'peers', peers: [] }).selected).toBeUndefined()
  })

  it('report once that the node does not answer, and that it answers again', () => {
    const lost = (atMs: number, problem: string): NodeUpdate => ({ kind: 'lost', atMs, problem })
    const state = after(lost(5, 'closed'), lost(7, 'refused'))
    expect(state.connection).toEqual({ state: 'lost', sinceMs: 5, problem: 'refused' })
    const back = applyUpdate(state, { kind: 'connected', atMs: 9, version: 'v1', hasPeers: true })
    expect(back.connection).toEqual({ state: 'open' })
    expect(back.eventLines.map(({ text }) => text)).toEqual([
      'the node does not answer: closed',
      'the node answers again',
    ])
  })

  it('report a verdict that becomes unhealthy and healthy again', () => {
    const part = { state: 'ok', ok: true, text: 'ok' }
    const health = (state: string): NodeUpdate => ({
      kind: 'health',
      atMs: 1,
      verdict: { state, ok: state === 'healthy', text: `It is ${state}.`, causes: [] },
      derivation: part,
      gossip: part,
    })
    const state = after(health('healthy'), health('stopped'), health('stopped'), health('healthy'))
    expect(state.eventLines.map(({ text, tone }) => [text, tone])).toEqual([
      ['It is stopped.', 'bad'],
      ['It is healthy.', 'good'],
    ])
  })

  it('keep the fact that the node runs without peers, and a limited number of events', () => {
    const connected = (hasPeers: boolean): NodeUpdate => ({ kind: 'connected', atMs: 1, version: 'v1', hasPeers })
    const part = { state: 'healthy', ok: true, text: '' }
    const health: NodeUpdate = {
      ...{ kind: 'health', atMs: 1, verdict: { ...part, causes: [] }, derivation: part, gossip: undefined },
    }
    expect(after(connected(false), health).gossip).toBeNull()
    expect(after(connected(false), connected(true), health).gossip).toBeUndefined()
    const lines = Array.from({ length: 250 }, (_, atMs): NodeUpdate => {
      return { kind: 'event', line: { atMs, text: String(atMs), tone: 'plain' } }
    })
    expect(after(...lines).eventLines).toHaveLength(200)
    expect(after(...lines).eventLines.at(-1)?.atMs).toBe(249)
    const grafted = (atMs: number): NodeUpdate => ({
      kind: 'event',
      line: { atMs, text: 'a joined the mesh', tone: 'plain' },
    })
    expect(after(grafted(0), grafted(5), grafted(2_000)).eventLines.map(({ atMs }) => atMs)).toEqual([0, 2_000])
  })
})

describe('keys', () => {
  it('move the selection by a row, a page, and to the ends', () => {
    const selected = (...keys: Key[]) => press(after(PEERS), ...keys).state.selected
    expect(selected('down')).toBe('a')
    expect(selected('j', 'j', 'j', 'j')).toBe('c')
    expect(selected('page-down', 'k')).toBe('a')
    expect(selected('G', 'g', 'up')).toBe('b')
    expect(press(INITIAL_STATE, 'down', 'enter', 'b').commands).toEqual([])
  })

  it('change the order: latency, agent, id, score', () => {
    const order = (count: number) => ids(press(after(PEERS), ...Array<Key>(count).fill('s')).state)
    expect([order(1), order(2), order(3), order(4)]).toEqual(['cab', 'acb', 'abc', 'bac'])
  })

  it('explain a peer, scroll to the last line, and go back', () => {
    const { state, commands } = press(after(PEERS), 'enter', 'down', 'page-down', 'page-down')
    expect(commands).toEqual([{ kind: 'explain', peerId: 'b' }])
    expect(state.mode).toMatchObject({ kind: 'explain', peerId: 'b', top: 3 })
    expect(press(state, 'up').state.mode).toMatchObject({ top: 2 })
    expect(press(state, 'escape').state.mode).toEqual({ kind: 'list' })
  })

  it('block and unblock only after confirmation', () => {
    const state = after(PEERS)
    expect(press(state, 'b').commands).toEqual([])
    expect(press(state, 'b').state.confirming).toEqual({ verb: 'block', peerId: 'b' })
    // Any key except `y` means no, and has no other effect.
    expect(press(state, 'b', 'q')).toMatchObject({ commands: [], state: { confirming: undefined } })
    expect(press(state, 'b', 'enter').state.mode).toEqual({ kind: 'list' })
    expect(press(state, 'down', 'b', 'y').commands).toEqual([{ kind: 'block', peerId: 'a' }])
    expect(press(state, 'enter', 'u', 'y').commands.at(-1)).toEqual({ kind: 'unblock', peerId: 'b' })
    expect(press(state, 'b', 'interrupt').commands).toEqual([{ kind: 'quit' }])
    expect(press(state, 'q').commands).toEqual([{ kind: 'quit' }])
  })
})

describe('events', () => {
  const peerID = '16Uiu2HAm5UcGBcvZtAYgnANxy7LGgmsAaC3HoKN8tcuH6Hyr2Er8'
  it('of peers', () => {
    const text = (event: Parameters<typeof peerEventLine>[0]) => peerEventLine(event, 0)?.text
    expect(text({ event: 'connected', peerID, address: '', direction: 'outbound' })).toBe('connected to …6Hyr2Er8')
    expect(text({ event: 'disconnected', peerID, by: 'peer', cause: 'closed' })).toBe('…6Hyr2Er8 disconnected: closed')
    expect(text({ event: 'prune', peerID, version: 4, cause: 'by-peer' })).toBe('…6Hyr2Er8 left the mesh')
    expect(text({ event: 'scores', scores: {} })).toBeUndefined()
  })

  it('of bans', () => {
    const text = (event: Parameters<typeof banEventLine>[0]) => banEventLine(event, 1_000).text
    expect(text({ event: 'ban', peerID, reason: 'invalid blocks', untilMs: 61_000 })).toBe(
      '…6Hyr2Er8 is banned for 60 s: invalid blocks',
    )
    expect(text({ event: 'unban', ip: '1.2.3.4', cause: 'expired' })).toBe('the ban of 1.2.3.4 expired')
    expect(text({ event: 'block', subnet: '10.0.0.0/8' })).toBe('10.0.0.0/8 was added to the block list')
  })

  it('of derivation: lost data, not read data', () => {
    const text = (event: Parameters<typeof derivationEventLine>[0]) => derivationEventLine(event, 0)?.text
    const dropped = { kind: 'batch-dropped', l1Block: 7, type: 'span', reason: 'too old', losesChannel: true } as const
    expect(text(dropped)).toBe('L1 block 7: span batch dropped: too old; its channel is lost')
    const ended = { kind: 'channel-gone', l1Block: 7, channel: '0xab' } as const
    expect(text({ ...ended, how: 'timed-out' })).toBe('L1 block 7: a channel timed out')
    expect(text({ ...ended, how: 'read' })).toBeUndefined()
    expect(text({ kind: 'batch-read', l1Block: 7, type: 'span' })).toBeUndefined()
    expect(text({ kind: 'channel-first', channel: '0xab' })).toBeUndefined()
  })
})
