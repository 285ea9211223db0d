import type { BatcherStatus, NodeHealth, PartHealth } from './answers.ts'
import { duration, sentence } from './format.ts'

export type Tone = 'good' | 'busy' | 'bad' | 'unknown'

export interface StatusPart {
  label: string
  tone: Tone
  text: string
}

export interface Status {
  tone: Tone
  /** One sentence: how the node is, and why. */
  text: string
  parts: StatusPart[]
}

/** States in which nothing is wrong and something is still to come. */
const BUSY = new Set(['starting', 'catching-up', 'resetting', 'engine-syncing', 'quiet'])

export type ConnectionState = 'connecting' | 'open' | 'lost' | 'unreachable'

/** What a sentence about a node is made from. */
export interface Known {
  name: string
  connectionState: ConnectionState
  /** Since when it does not answer. */
  lostAtMs: number | undefined
  health: NodeHealth | undefined
  derivation: PartHealth | undefined
  /** Null where the node knows of none. */
  batcher: Pick<BatcherStatus, 'why' | 'ok'> | null | undefined
  batcherProblem: string | undefined
}

/** What the page opens with: health, derivation and batches of one node in a sentence, and each by itself. */
export function statusOf(node: Known, nowMs: number): Status {
  const name = sentenceStart(node.name)
  const parts = partsOf(node)
  if (node.connectionState === 'connecting') return { tone: 'unknown', text: `Connecting to ${node.name}…`, parts: [] }
  if (node.connectionState === 'unreachable') {
    return { tone: 'bad', text: `${name} cannot be reached: it does not run, or does not let this page in.`, parts: [] }
  }
  if (node.connectionState === 'lost') {
    const since = duration(Math.max(1_000, nowMs - (node.lostAtMs ?? nowMs)))
    const text = `${name} has not answered for ${since}: it has stopped, or cannot be reached. What stands below is from then.`
    return { tone: 'bad', text, parts: parts.map((part) => ({ ...part, tone: 'unknown' })) }
  }
  const trouble = parts.find(({ tone }) => tone === 'bad')
  if (trouble !== undefined) return { tone: 'bad', text: `${name} needs attention. ${trouble.text}`, parts }
  const busy = parts.find(({ tone }) => tone === 'busy')
  if (busy !== undefined) return { tone: 'busy', text: `${name} is getting there. ${busy.text}`, parts }
  const [first] = parts
  if (first === undefined) return { tone: 'unknown', text: `${name} answers; its health is not known yet.`, parts }
  return {
    tone: 'good',
    text: `${name} is well. ${(parts.find(({ label }) => label === 'Gossip') ?? first).text}`,
    parts,
  }
}

function partsOf({ health, derivation, batcher, batcherProblem }: Known): StatusPart[] {
  const parts: StatusPart[] = []
  const add = (label: string, { state, ok, text }: PartHealth): void => {
    parts.push({ label, tone: ok ? (BUSY.has(state) ? 'busy' : 'good') : 'bad', text: sentence(text) })
  }
  const derives = derivation ?? health?.derivation
  if (derives !== undefined) add('Derivation', derives)
  if (health?.gossip != null) add('Gossip', health.gossip)
  if (health !== undefined && health.gossip === null) {
    parts.push({ label: 'Gossip', tone: 'unknown', text: 'The peer-to-peer network is switched off.' })
  }
  if (batcherProblem !== undefined) {
    parts.push({ label: 'Batches', tone: 'bad', text: sentence(batcherProblem) })
  } else if (batcher != null) {
    parts.push({ label: 'Batches', tone: batcher.ok ? 'good' : 'bad', text: sentence(batcher.why) })
  }
  return parts
}

function sentenceStart(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1)
}
