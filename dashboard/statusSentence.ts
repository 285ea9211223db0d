import type { BatcherStatus, NodeHealth } from './answers.ts'
import { duration, sentence } from './format.ts'

export type Tone = 'good' | 'warned' | 'bad' | 'unknown'

export interface StatusPart {
  label: string
  tone: Tone
  text: string
  /** The command that resolves it. */
  command: string | undefined
}

export interface Status {
  tone: Tone
  /** One sentence: the node's state and its cause. */
  text: string
  /** The command that resolves it. */
  command: string | undefined
  parts: StatusPart[]
}

const TONES: Record<NodeHealth['state'], Tone> = { healthy: 'good', degraded: 'warned', stopped: 'bad' }

export type ConnectionState = 'connecting' | 'open' | 'lost' | 'unreachable'

/** The data for a sentence about a node. */
export interface Known {
  name: string
  connectionState: ConnectionState
  /** Time since which the node does not answer. */
  lostAtMs: number | undefined
  health: NodeHealth | undefined
  /** Null if the node has none configured. */
  batcher: Pick<BatcherStatus, 'why' | 'ok'> | null | undefined
  batcherProblem: string | undefined
}

/** The top of the page: the node's verdict, its other causes, and the state of each part. */
export function statusOf(node: Known, nowMs: number): Status {
  const { health, connectionState } = node
  const name = node.name.charAt(0).toUpperCase() + node.name.slice(1)
  const parts = partsOf(node)
  const without = { command: undefined, parts: [] }
  if (connectionState === 'connecting') return { tone: 'unknown', text: `Connecting to ${node.name}…`, ...without }
  if (connectionState === 'unreachable') {
    const text = `${name} is unreachable. It is not running, or it refuses this page.`
    return { tone: 'bad', text, ...without }
  }
  if (connectionState === 'lost') {
    const since = duration(Math.max(1_000, nowMs - (node.lostAtMs ?? nowMs)))
    const text = `${name} has not answered for ${since}. It has stopped or is unreachable. The data below is from before.`
    return { tone: 'bad', text, command: undefined, parts: parts.map((part) => ({ ...part, tone: 'unknown' })) }
  }
  if (health === undefined)
    return { tone: 'unknown', text: `${name} answers, but has not reported its health yet.`, ...without }
  const command = health.causes[0]?.command ?? undefined
  return { tone: TONES[health.state], text: sentence(health.text), command, parts }
}

/** The other causes of an unhealthy node, or the activity of each part of a healthy node. */
function partsOf({ health, batcher, batcherProblem }: Known): StatusPart[] {
  if (health === undefined) return []
  const { causes, derivation, gossip } = health
  if (causes.length > 0) {
    return causes.slice(1).map(({ text, command }) => {
      return { label: 'Also', tone: 'warned', text: sentence(text), command: command ?? undefined }
    })
  }
  const part = (label: string, { ok, text }: { ok: boolean; text: string }): StatusPart => {
    return { label, tone: ok ? 'good' : 'warned', text: sentence(text), command: undefined }
  }
  const off = { label: 'Gossip', text: 'The node runs without peers (--p2p.disable).', command: undefined }
  const batches =
    batcherProblem !== undefined
      ? { ok: false, text: batcherProblem }
      : batcher && { ok: batcher.ok, text: batcher.why }
  return [
    part('Derivation', derivation),
    gossip === null ? { ...off, tone: 'unknown' } : part('Gossip', gossip),
    ...(batches ? [part('Batches', batches)] : []),
  ]
}
