import { countOf, sinceText } from '../../../lib/phrases.ts'
import {
  type Cause,
  cause,
  checkCommand,
  type GossipFacts,
  GRACE_MS,
  type HealthFacts,
  THE_SEQUENCER,
} from './facts.ts'

/** A node that should build or receive blocks is not healthy after this number of block times without a block. */
const MAX_QUIET_BLOCKS = 3
/** A moving head that is older than this number of blocks is catching up. */
const BEHIND_BLOCKS = 10
/** Batches arrive at intervals. After this time without blocks from L1, there is probably no batch submitter. */
const NO_BATCHES_MS = 600_000

/** The problem of the blocks that the node builds or receives; undefined if blocks arrive as expected. */
export function flowCause(facts: HealthFacts): Cause | undefined {
  const { nowMs, blockTimeMs, head, lastBlock, sequencer, derivation } = facts
  if (derivation.state === 'engine-syncing') return undefined
  // A stop by the operator is reported at once. A handover to another sequencer gets time.
  if (sequencer?.active === false && !sequencer.hasConductor && lastBlock?.from === 'sequencer')
    return standstill(facts)
  const quietMs = MAX_QUIET_BLOCKS * blockTimeMs
  const isFresh = head !== undefined && nowMs - head.timestampMs < quietMs
  const isMoving = lastBlock !== undefined && nowMs - lastBlock.atMs < quietMs
  if (isFresh) return undefined
  if (sequencer?.active !== true && comesThroughL1Only(facts)) return throughL1(facts)
  if (isMoving) return behind(facts)
  return standstill(facts)
}

/** True if there is no gossip, or if gossip does not move the head but L1 does. */
function comesThroughL1Only({ gossip, lastBlock, nowMs }: HealthFacts): boolean {
  if (gossip === undefined) return true
  return lastBlock?.from === 'l1' && nowMs - lastBlock.atMs < NO_BATCHES_MS
}

function throughL1(facts: HealthFacts): Cause | undefined {
  const { gossip, nowMs, startedMs, derivation, head, lastBlock } = facts
  if (head === undefined) return findingHeads(facts)
  if (derivation.state === 'catching-up') return cause('catching-up', `${agePhrase(facts)} ${derivation.text}`)
  if (gossip !== undefined) {
    // If gossip has a problem, its own text is more precise.
    if (!gossip.ok) return cause(gossip.state, gossip.text, { command: checkCommand(gossip) })
    return cause('l1-only', `Blocks arrive through L1 only, none by gossip. ${agePhrase(facts)}`)
  }
  const quietMs = nowMs - (lastBlock?.atMs ?? startedMs)
  if (quietMs < NO_BATCHES_MS) return undefined
  return cause(
    'no-batches',
    `No block has arrived through L1 for ${sinceText(quietMs)}. The last block is ${head.number}.`,
    {
      stops: true,
      sinceMs: lastBlock?.atMs,
    },
  )
}

function behind(facts: HealthFacts): Cause | undefined {
  const { head, nowMs, blockTimeMs, derivation } = facts
  if (head === undefined || nowMs - head.timestampMs < BEHIND_BLOCKS * blockTimeMs) return undefined
  const progress = derivation.state === 'catching-up' ? ` ${derivation.text}` : ''
  return cause('catching-up', `${agePhrase(facts)}${progress}`)
}

/** `The unsafe head, block 5, is 40 blocks behind the clock. It grows by 3 blocks/s and will catch up in 20 s.` */
function agePhrase({ head, nowMs, blockTimeMs, blocksPerSecond }: HealthFacts): string {
  if (head === undefined) return 'The unsafe head is not known.'
  const blocks = Math.max(0, Math.floor((nowMs - head.timestampMs) / blockTimeMs))
  const age = `The unsafe head, block ${head.number}, is ${countOf(blocks, 'block')} behind the clock.`
  if (blocksPerSecond === undefined || blocksPerSecond <= 0) return age
  const gained = blocksPerSecond - 1000 / blockTimeMs
  const left = gained <= 0 ? '' : ` and will catch up in ${sinceText((blocks / gained) * 1000)}`
  return `${age} It grows by ${countOf(Number(blocksPerSecond.toPrecision(2)), 'block')}/s${left}.`
}

function findingHeads({ derivation, lastBlock, nowMs, startedMs }: HealthFacts): Cause {
  const stops = lastBlock !== undefined || nowMs - startedMs >= GRACE_MS
  return cause(derivation.state, derivation.text, { stops, sinceMs: lastBlock?.atMs, command: derivation.command })
}

type Standstill = (facts: HealthFacts, quiet: Quiet) => Cause | undefined

/** The period without blocks, for the sentences. */
interface Quiet {
  /** `for 53 s, since block 32`. */
  since: string
  sinceMs: number
}

/** No block is built or received. The first rule that knows the reason decides. */
function standstill(facts: HealthFacts): Cause {
  const { nowMs, startedMs, head, lastBlock } = facts
  const sinceMs = lastBlock?.atMs ?? Math.min(startedMs, head?.timestampMs ?? startedMs)
  const number = lastBlock?.number ?? head?.number
  const quiet = {
    sinceMs,
    since: `for ${sinceText(nowMs - sinceMs)}${number === undefined ? '' : `, since block ${number}`}`,
  }
  for (const rule of [engineDown, noHeads, ...(facts.sequencer === undefined ? [] : SEQUENCER_RULES), ...PEER_RULES]) {
    const found = rule(facts, quiet)
    if (found !== undefined) return { ...found, sinceMs: found.sinceMs ?? sinceMs }
  }
  const { connected } = facts.gossip ?? { connected: 0 }
  const text = `No block has arrived ${quiet.since}. ${countOf(connected, 'peer')} ${connected === 1 ? 'is' : 'are'} connected, so the sequencer is stopped or disconnected from them.`
  return cause('no-blocks', text, { stops: true, sinceMs, command: `devium sequencer status --rpc ${THE_SEQUENCER}` })
}

const engineDown: Standstill = ({ derivation }) =>
  derivation.state === 'engine-down' ? stopping('engine-down', derivation.text) : undefined

const noHeads: Standstill = (facts) => (facts.head === undefined ? findingHeads(facts) : undefined)

/** The node has just started, so the state is not known yet. */
const starting: Standstill = ({ lastBlock, nowMs, startedMs, blockTimeMs, sequencer, gossip }, { since }) => {
  const graceMs = sequencer === undefined ? GRACE_MS : MAX_QUIET_BLOCKS * blockTimeMs
  if (lastBlock !== undefined || nowMs - startedMs >= graceMs) return undefined
  const peers = gossip === undefined ? '' : ` and has ${countOf(gossip.connected, 'peer')}`
  const text = `The node started ${sinceText(nowMs - startedMs)} ago. It has had no block ${since}${peers}.`
  return cause('starting', text)
}

const stoppedByOperator: Standstill = ({ sequencer, lastBlock }, { since }) => {
  if (sequencer?.active !== false || sequencer.hasConductor) return undefined
  const what = lastBlock === undefined ? 'The sequencer is not started.' : 'An operator has stopped the sequencer.'
  const text = `${what} There has been no block ${since}.`
  return stopping('sequencer-stopped', text, 'devium sequencer start')
}

const notLeading: Standstill = ({ sequencer }, { since }) => {
  if (sequencer?.active !== false) return undefined
  const text = `The op-conductor has not started this sequencer, and no other sequencer has sent a block ${since}.`
  return stopping('no-leader', text)
}

const atDriftLimit: Standstill = ({ sequencer, l1HeadAtMs, nowMs }, { since }) => {
  const { failure } = sequencer ?? {}
  if (failure?.code !== 'origin-missing') return undefined
  const l1 = l1HeadAtMs === undefined ? '' : ` The last L1 block arrived ${sinceText(nowMs - l1HeadAtMs)} ago.`
  const text = `The sequencer has sealed no block ${since}. It is at the sequencer drift limit: ${failure.message}.${l1}`
  return stopping('drift-limit', text)
}

const failing: Standstill = ({ sequencer }, { since }) => {
  if (sequencer === undefined) return undefined
  const { failure } = sequencer
  const why = failure === undefined ? '' : ` The last try failed: ${failure.message}.`
  return stopping('sequencer-failing', `The sequencer has sealed no block ${since}.${why}`)
}

/** An active sequencer knows what it waits for. An inactive sequencer reports this, whatever its peers do. */
const SEQUENCER_RULES: readonly Standstill[] = [
  (facts, quiet) => (facts.sequencer?.failure === undefined ? starting(facts, quiet) : undefined),
  stoppedByOperator,
  notLeading,
  atDriftLimit,
  failing,
]

const noPeers: Standstill = ({ gossip }, { since }) => {
  if (gossip === undefined || gossip.connected > 0) return undefined
  const failure = gossip.staticPeers.find((peer) => peer.failure !== null)?.failure?.text
  const advice =
    gossip.staticPeers.length === 0
      ? 'Add peers with --p2p.static or bootnodes with --p2p.bootnodes.'
      : `The static peers cannot be reached${failure === undefined ? '' : `: ${failure}`}.`
  const text = `No block has arrived ${since}, and no peer is connected. ${advice}`
  return stopping('no-peers', text, checkCommand(gossip))
}

const noSubscriber: Standstill = ({ gossip }, { since }) => {
  if (gossip === undefined || gossip.subscribers > 0) return undefined
  const text = `No block has arrived ${since}. ${countOf(gossip.connected, 'peer')} connected, but none subscribes to this chain's blocks.${adviceOf(gossip)}`
  return stopping('no-subscriber', text, 'devium p2p health')
}

const rejected: Standstill = ({ gossip }, { since }) => {
  if (gossip?.state !== 'blocks-rejected') return undefined
  return stopping('blocks-rejected', `No block has arrived ${since}.${adviceOf(gossip)}`, 'devium p2p health')
}

/** The explanation from gossip's own health report. */
function adviceOf({ ok, text }: GossipFacts): string {
  return ok ? '' : ` ${text.charAt(0).toUpperCase()}${text.slice(1)}`
}

const PEER_RULES: readonly Standstill[] = [starting, noPeers, rejected, noSubscriber]

function stopping(code: string, text: string, command?: string): Cause {
  return cause(code, text, { stops: true, command })
}
