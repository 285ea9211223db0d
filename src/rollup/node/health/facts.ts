import type { HealthReport } from '../../../p2p/index.ts'
import type { SequencerStanding } from '../../sequencer/index.ts'
import type { DerivationStatus } from '../derivationStatus.ts'
import type { BatcherNews } from './batcherWatch.ts'

/** What the verdict on a node is judged from. Moments are Unix milliseconds. */
export interface HealthFacts {
  nowMs: number
  startedMs: number
  blockTimeMs: number
  /** The unsafe head; undefined while heads are looked for. */
  head: { number: number; timestampMs: number } | undefined
  /** The last block that became the head since the start, and was higher than all before it. */
  lastBlock: LastBlock | undefined
  /** By which the head has grown in the last minute; undefined before that is known. */
  blocksPerSecond: number | undefined
  /** Undefined on a verifier. */
  sequencer: SequencerFacts | undefined
  /** Undefined with `--p2p.disable`. */
  gossip: GossipFacts | undefined
  derivation: Pick<DerivationStatus, 'state' | 'ok' | 'text' | 'command'>
  /** When the last L1 block came; undefined before the first. */
  l1HeadAtMs: number | undefined
  /** In follow mode the address of the node whose safe head is taken over. */
  follows: string | undefined
  /** Undefined where no batch submitter is named, or none was asked yet. */
  batcher: BatcherNews | undefined
}

export interface LastBlock {
  number: number
  atMs: number
  /** `peers`: by gossip, on request, or by RPC. */
  from: 'peers' | 'l1' | 'sequencer'
}

export interface SequencerFacts extends SequencerStanding {
  /** Why the last block did not go out to peers. */
  publishProblem: string | undefined
}

export interface GossipFacts
  extends Pick<HealthReport, 'state' | 'ok' | 'text' | 'connected' | 'subscribers' | 'staticPeers'> {
  /** Whether any peer was connected since the start. */
  hadPeers: boolean
}

/** Why a node is not healthy. */
export interface Cause {
  /** Stable. */
  code: string
  /** One or two sentences. */
  text: string
  /** Whether no block is made or received because of it. */
  stops: boolean
  /** Whether this node has all blocks all the same. */
  hurtsOthersOnly: boolean
  /** Since when, where that is known; Unix milliseconds. */
  sinceMs: number | undefined
  /** What ends it, or tells more where it is not in this node's hands. */
  command: string | undefined
}

export function cause(code: string, text: string, more: Partial<Omit<Cause, 'code' | 'text'>> = {}): Cause {
  return { code, text, stops: false, hurtsOthersOnly: false, sinceMs: undefined, command: undefined, ...more }
}

/** Stands in a command for an address that only the operator knows. */
export const THE_SEQUENCER = '<the sequencer>'

/** Dials, handshakes and discovery take their time after a start. */
export const GRACE_MS = 60_000

/** What tells where the dial of a static peer ends. */
export function checkCommand({ staticPeers }: Pick<GossipFacts, 'staticPeers'>): string | undefined {
  const down = staticPeers.find(({ connected }) => !connected)
  return down === undefined ? undefined : `devium p2p check ${down.peerID}`
}
