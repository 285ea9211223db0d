import type { HealthReport } from '../../../p2p/index.ts'
import type { SequencerStatus } from '../../sequencer/index.ts'
import type { DerivationStatus } from '../derivationStatus.ts'
import type { BatcherReport } from './batcherWatch.ts'

/** The inputs of the verdict on a node. Times are Unix milliseconds. */
export interface HealthFacts {
  nowMs: number
  startedMs: number
  blockTimeMs: number
  /** The unsafe head; undefined while heads are being found. */
  head: { number: number; timestampMs: number } | undefined
  /** The last block since the start that became the head and was higher than all earlier heads. */
  lastBlock: LastBlock | undefined
  /** Growth of the head in the last minute; undefined until known. */
  blocksPerSecond: number | undefined
  /** Undefined on a verifier. */
  sequencer: SequencerFacts | undefined
  /** Undefined with `--p2p.disable`. */
  gossip: GossipFacts | undefined
  derivation: Pick<DerivationStatus, 'state' | 'ok' | 'text' | 'command'>
  /** When the last L1 block arrived; undefined before the first. */
  l1HeadAtMs: number | undefined
  /** The address of the followed node, in follow mode. */
  follows: string | undefined
  /** Undefined if no batch submitter is configured, or if none has been polled yet. */
  batcher: BatcherReport | undefined
}

export interface LastBlock {
  number: number
  atMs: number
  /** `peers`: by gossip, on request, or by RPC. */
  from: 'peers' | 'l1' | 'sequencer'
}

export interface SequencerFacts extends SequencerStatus {
  /** Why the last block was not published to peers. */
  publishProblem: string | undefined
}

export interface GossipFacts
  extends Pick<HealthReport, 'state' | 'ok' | 'text' | 'connected' | 'subscribers' | 'staticPeers'> {
  /** Whether any peer has connected since the start. */
  hadPeers: boolean
}

/** Why a node is not healthy. */
export interface Cause {
  /** Name of the cause for programs. It does not change between versions. */
  code: string
  /** One or two sentences. */
  text: string
  /** Whether the cause prevents building or receiving blocks. */
  stops: boolean
  /** Whether this node still has all blocks. */
  hurtsOthersOnly: boolean
  /** Unix time in milliseconds since when it holds, if known. */
  sinceMs: number | undefined
  /** The command that fixes the problem, or that shows more if this node cannot fix it. */
  command: string | undefined
}

export function cause(code: string, text: string, more: Partial<Omit<Cause, 'code' | 'text'>> = {}): Cause {
  return { code, text, stops: false, hurtsOthersOnly: false, sinceMs: undefined, command: undefined, ...more }
}

/** Placeholder in a command for an address that only the operator knows. */
export const THE_SEQUENCER = '<the sequencer>'

/** After a start, dials, handshakes and discovery need time. */
export const GRACE_MS = 60_000

/** The command that shows where the dial of a static peer fails. */
export function checkCommand({ staticPeers }: Pick<GossipFacts, 'staticPeers'>): string | undefined {
  const down = staticPeers.find(({ connected }) => !connected)
  return down === undefined ? undefined : `devium p2p check ${down.peerID}`
}
