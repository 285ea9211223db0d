import type { z } from 'zod'
import type { Events } from '../../../rpc/schemas/events.ts'
import type { explanationSchema } from '../p2p/explainView.ts'

/** One row of the table of peers: connected, banned or blocked. */
export interface WatchedPeer {
  id: string
  /** The operator's name for the peer. */
  name?: string | undefined
  isConnected: boolean
  direction: 'inbound' | 'outbound' | undefined
  score: number
  /** The largest term of the score. */
  mainReason: string
  isInMesh: boolean
  latencyMs: number | undefined
  isStatic: boolean
  isProtected: boolean
  isBlocked: boolean
  ban: { reason: string; untilMs: number } | undefined
  address: string
  agent: string
}

/** The health of one part of the node: a state and a sentence. */
export interface PartHealth {
  state: string
  ok: boolean
  text: string
}

/** The node's verdict on itself. */
export interface ShownVerdict extends PartHealth {
  causes: readonly { text: string; command: string | null }[]
}

export type Tone = 'good' | 'notable' | 'bad' | 'plain'

export interface EventLine {
  atMs: number
  text: string
  tone: Tone
}

export const SORTINGS = ['score', 'latency', 'agent', 'peer'] as const
export type Sorting = (typeof SORTINGS)[number]

/** Answers about one peer, as `devium p2p explain` shows them. */
export type Explanation = z.infer<typeof explanationSchema>

/** The content of the screen below the heads. */
export type Mode =
  | { kind: 'list' }
  /** `top`: number of lines scrolled past. */
  | { kind: 'explain'; peerId: string; answers: Explanation | undefined; top: number }

export interface WatchState {
  /** `sinceMs` and `problem` describe a lost connection. */
  connection: { state: 'open' } | { state: 'lost'; sinceMs: number; problem: string }
  version: string
  heads: Events['heads'] | undefined
  verdict: ShownVerdict | undefined
  derivation: PartHealth | undefined
  /** Null when the node runs without p2p. */
  gossip: PartHealth | null | undefined
  peers: readonly WatchedPeer[]
  sorting: Sorting
  /** A peer id, so that the selection survives a new order. */
  selected: string | undefined
  mode: Mode
  /** An action that awaits confirmation. */
  confirming: { verb: 'block' | 'unblock'; peerId: string } | undefined
  /** Oldest first. */
  eventLines: readonly EventLine[]
  /** The result of the last action. */
  notice: { text: string; tone: Tone } | undefined
}

/** An update from the node. */
export type NodeUpdate =
  | { kind: 'connected'; atMs: number; version: string; hasPeers: boolean }
  | { kind: 'lost'; atMs: number; problem: string }
  | { kind: 'heads'; heads: Events['heads'] }
  | { kind: 'health'; atMs: number; verdict: ShownVerdict; derivation: PartHealth; gossip: PartHealth | undefined }
  | { kind: 'peers'; peers: readonly WatchedPeer[] }
  | { kind: 'scores'; scores: Readonly<Record<string, number>> }
  | { kind: 'event'; line: EventLine }
  | { kind: 'explained'; peerId: string; answers: Explanation }
  /** The result of an action. */
  | { kind: 'done'; text: string; isRefused: boolean }

/** Number of event lines that are kept. */
const MAX_EVENT_LINES = 200
/** An identical line within this time is dropped. */
const REPEATED_MS = 1_000

export const INITIAL_STATE: WatchState = {
  connection: { state: 'open' },
  version: '',
  heads: undefined,
  verdict: undefined,
  derivation: undefined,
  gossip: undefined,
  peers: [],
  sorting: 'score',
  selected: undefined,
  mode: { kind: 'list' },
  confirming: undefined,
  eventLines: [],
  notice: undefined,
}

/** The state after an update. */
export function applyUpdate(state: WatchState, update: NodeUpdate): WatchState {
  switch (update.kind) {
    case 'connected': {
      const { connection } = state
      const gossip = update.hasPeers ? (state.gossip ?? undefined) : null
      const next: WatchState = { ...state, connection: { state: 'open' }, version: update.version, gossip }
      return connection.state === 'lost' ? happened(next, update.atMs, 'the node answers again', 'good') : next
    }
    case 'lost': {
      if (state.connection.state === 'lost') {
        return { ...state, connection: { ...state.connection, problem: update.problem } }
      }
      const lost = { state: 'lost' as const, sinceMs: update.atMs, problem: update.problem }
      return happened({ ...state, connection: lost }, update.atMs, `the node does not answer: ${update.problem}`, 'bad')
    }
    case 'heads':
      return { ...state, heads: update.heads }
    case 'health': {
      const { atMs, verdict, derivation, gossip } = update
      const next = { ...state, verdict, derivation, gossip: state.gossip === null ? null : gossip }
      return withChange(next, atMs, state.verdict, verdict)
    }
    case 'peers':
      return withSelection({ ...state, peers: sortPeers(update.peers, state.sorting) })
    case 'scores': {
      const peers = state.peers.map((peer) => ({ ...peer, score: update.scores[peer.id] ?? peer.score }))
      return { ...state, peers: sortPeers(peers, state.sorting) }
    }
    case 'event':
      return withEventLine(state, update.line)
    case 'explained': {
      const { mode } = state
      if (mode.kind !== 'explain' || mode.peerId !== update.peerId) return state
      return { ...state, mode: { ...mode, answers: update.answers } }
    }
    case 'done':
      return { ...state, notice: { text: update.text, tone: update.isRefused ? 'bad' : 'good' } }
  }
}

/** The first order lists the most conspicuous peers first. Ids break ties, so that rows do not jump. */
export function sortPeers(peers: readonly WatchedPeer[], sorting: Sorting): WatchedPeer[] {
  const order: Record<Sorting, (a: WatchedPeer, b: WatchedPeer) => number> = {
    score: (a, b) => a.score - b.score,
    latency: (a, b) => (b.latencyMs ?? -1) - (a.latencyMs ?? -1),
    agent: (a, b) => (a.agent < b.agent ? -1 : a.agent > b.agent ? 1 : 0),
    peer: () => 0,
  }
  return [...peers].sort((a, b) => order[sorting](a, b) || (a.id < b.id ? -1 : 1))
}

/** If there are peers, one is selected. If the selected peer has disappeared, the first peer is selected. */
function withSelection(state: WatchState): WatchState {
  const { peers, selected } = state
  if (peers.some(({ id }) => id === selected)) return state
  return { ...state, selected: peers[0]?.id }
}

function withChange(state: WatchState, atMs: number, before: PartHealth | undefined, after: PartHealth): WatchState {
  if (before === undefined || before.state === after.state) return state
  return happened(state, atMs, after.text, after.ok ? 'good' : 'bad')
}

function happened(state: WatchState, atMs: number, text: string, tone: Tone): WatchState {
  return withEventLine(state, { atMs, text, tone })
}

function withEventLine(state: WatchState, line: EventLine): WatchState {
  // A peer joins the mesh of each topic version separately, which would repeat the line.
  const last = state.eventLines.at(-1)
  if (last?.text === line.text && line.atMs - last.atMs < REPEATED_MS) return state
  return { ...state, eventLines: [...state.eventLines, line].slice(-MAX_EVENT_LINES) }
}
