import { type Clock, sleep } from '../../src/lib/clock.ts'
import { shortPeer } from '../../src/lib/shortIds.ts'
import type { Endpoints, TestnetEvent } from '../runner/events.ts'
import { type Mark, type NodePast, nodeHistory, SAMPLE_COLUMNS, type ScenarioSpan, type Timeline } from './timeline.ts'

export interface RecorderModules {
  clock: Clock
  testnet: {
    readonly endpoints: Pick<Endpoints, 'nodes'>
    request(node: string, method: string, params: readonly unknown[]): Promise<unknown>
  }
}

/** Nodes take samples at the same interval. */
const INTERVAL_MS = 2_000
/** Time that is recorded before the first fault. */
const CALM_MS = 6_000

/** Records the nodes' histories, before a fault makes a node lose its history, and the runner's events. */
export class TimelineRecorder {
  private readonly modules: RecorderModules
  private readonly fromMs: number
  private readonly nodes = new Map<string, NodePast>()
  private readonly marks: Mark[] = []
  private readonly scenarios: ScenarioSpan[] = []

  constructor(modules: RecorderModules) {
    this.modules = modules
    this.fromMs = modules.clock.now() - CALM_MS
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.read()
      await sleep(this.modules.clock, INTERVAL_MS, signal).catch(() => {})
    }
    await this.read()
  }

  note(event: TestnetEvent): void {
    const atMs = this.modules.clock.now()
    const mark = markOf(event)
    if (mark !== undefined) this.marks.push({ atMs, ...mark })
    if (event.event === 'scenario') {
      this.scenarios.push({ name: event.name, about: event.about, fromMs: atMs, passed: false })
    }
    const last = this.scenarios.at(-1)
    if (event.event !== 'verdict' || last === undefined) return
    last.toMs = atMs
    last.passed = event.passed
    if (event.why !== undefined) last.why = event.why
  }

  timeline(): Timeline {
    const { scenarios, marks } = this
    return {
      fromMs: this.fromMs,
      toMs: this.modules.clock.now(),
      scenarios,
      marks,
      nodes: Object.fromEntries(this.nodes),
    }
  }

  /** A node that does not answer leaves a gap. */
  private async read(): Promise<void> {
    const { testnet } = this.modules
    await Promise.allSettled(testnet.endpoints.nodes.map(({ name }) => this.readNode(name)))
  }

  private async readNode(name: string): Promise<void> {
    const { testnet } = this.modules
    const past = this.nodes.get(name) ?? emptyPast()
    this.nodes.set(name, past)
    const last = Math.max(this.fromMs, past.samples.atMs.at(-1) ?? 0, past.events.at(-1)?.atMs ?? 0)
    const { samples, scores, events } = nodeHistory.parse(await testnet.request(name, 'devium_history', [last]))
    past.samples.atMs.push(...samples.atMs)
    for (const column of SAMPLE_COLUMNS) past.samples[column].push(...samples[column])
    // Notes are already among the marks.
    const others = events.filter(({ kind }) => kind !== 'note')
    past.events.push(...others.map((event) => ({ ...event, subject: event.subject && this.nameOf(event.subject) })))
    for (const [peer, column] of Object.entries(scores.peers)) {
      const known = column.flatMap((score, index): [number, number][] =>
        score === null ? [] : [[scores.atMs[index] ?? 0, score]],
      )
      if (known.length === 0) continue
      past.scores[this.nameOf(peer)] = [...(past.scores[this.nameOf(peer)] ?? []), ...known]
    }
  }

  private nameOf(peer: string): string {
    return this.modules.testnet.endpoints.nodes.find(({ peerId }) => peerId === peer)?.name ?? shortPeer(peer)
  }
}

function emptyPast(): NodePast {
  const samples = { atMs: [], unsafe: [], safe: [], finalized: [], peers: [], mesh: [], gas: [] }
  return { samples, scores: {}, events: [] }
}

function markOf(event: TestnetEvent): Omit<Mark, 'atMs'> | undefined {
  switch (event.event) {
    case 'command':
      return { kind: 'fault', text: `${event.command}: ${event.did}` }
    // Stopped by a command, or the last event.
    case 'ended':
      return { kind: 'news', text: `${event.program} ended with ${event.how}` }
    case 'step':
      return { kind: event.passed ? 'step' : 'failure', text: `${event.what} (${event.seconds.toFixed(1)} s)` }
    case 'fork':
      return { kind: 'news', text: `${event.fork} is active from block ${event.block} on` }
    case 'warning':
      return { kind: 'news', text: event.message }
    default:
      return undefined
  }
}
