import type { HealthReport, HealthState, RefusedBlock, StaticPeerHealth } from '../base/healthReport.ts'
import type { DialFailureReason } from '../host/dialFailure.ts'
import type { CLOSED_EARLY } from '../peers/staticPeers.ts'
import type { HealthFacts } from './assessHealth.ts'

export type TextFacts = HealthFacts &
  Pick<HealthReport, 'otherChains'> & {
    bans: readonly { peerID: string; reason: string }[]
    /** Without a block for this long, the monitor reports trouble. */
    troubleMs: number
  }

/**
 * One or two sentences for an operator: the problem and the action. Starts in lower case, without a final full stop.
 */
export function healthText(state: HealthState, facts: TextFacts): string {
  return TEXTS[state](facts)
}

/** Names in a text. The report has all of them. */
const MAX_NAMED = 3
/** After this part of the time to trouble, the text no longer says that blocks come. */
const LATE_PARTS = 4
/** Failure of a dial that our own lists refused. */
const BLOCKED: DialFailureReason = 'blocked-by-us'
/** Failures of dials to a node that probably refuses us. */
const CLOSED_BY_PEER: ReadonlySet<string> = new Set<DialFailureReason | typeof CLOSED_EARLY>([
  'closed',
  'reset',
  'closed-early',
])

const TEXTS: Record<HealthState, (facts: TextFacts) => string> = {
  starting: (facts) =>
    `the node has just started: ${count(facts.connected, 'peer')} connected, ${facts.mesh} in the mesh, no block by gossip yet${staticsFailing(facts)}`,
  ok: (facts) => {
    const { lastBlock, nowMs, connected, troubleMs } = facts
    if (lastBlock === null) return 'blocks arrive by gossip'
    if (nowMs - lastBlock.atMs < troubleMs / LATE_PARTS) return `blocks arrive by gossip: ${sinceLastBlock(facts)}`
    const lonely = connected === 0 ? ', and no peer is connected' : ''
    return `blocks arrived by gossip (${sinceLastBlock(facts)})${lonely}`
  },
  sequencing: ({ lastMoves: { sequencer }, subscribers, nowMs }) =>
    `this node sealed block ${sequencer?.number ?? 'none'} ${ago(nowMs, sequencer?.atMs ?? nowMs)}${
      subscribers === 0
        ? ', but no connected peer subscribes to its blocks, so others get them through L1 only'
        : ` and gossips to ${count(subscribers, 'peer')}`
    }`,
  'catching-up': ({ lastBlock, head }) =>
    `gossip has delivered block ${lastBlock?.number}, but the unsafe head is at ${head?.number}: L1 is closing the gap`,
  'no-peers': (facts) =>
    `no peer is connected${banned(facts)}, so blocks reach this node through L1 only${l1Moves(facts)}. ${facts.bans.length === 0 ? '' : 'devium p2p unblock lifts a ban. '}Name peers in --p2p.static or bootnodes in --p2p.bootnodes, and make sure that the p2p port is reachable. devium p2p check shows where a dial fails`,
  'static-peers-down': (facts) => `${staticsDown(facts)}. ${withoutStatics(facts)}. ${staticsAdvice(facts)}`,
  'no-subscriber': (facts) =>
    `${count(facts.connected, 'peer')} connected, but none subscribes to ${facts.topic}${otherChains(facts)}, so blocks reach this node through L1 only${l1Moves(facts)}. Connect to nodes of this chain. If these are, their forks or chain id differ from this node's rollup config`,
  'no-mesh': (facts) =>
    `no block arrives by gossip (${sinceLastBlock(facts)}): none of ${count(facts.subscribers, 'peer')} on ${facts.topic} is in a mesh with this node${l1Moves(facts)}. devium p2p explain shows what lowers a peer's score. A peer may also have blocked this node`,
  'blocks-rejected': ({ recent, lastRefused, topic }) =>
    `all blocks on ${topic} are refused (${reasons(recent.refused)})${lastOf(lastRefused)}${advice(lastRefused)}`,
  'chain-stands-still': (facts) =>
    `no block arrives by gossip (${sinceLastBlock(facts)}) or through L1: the chain seems to have stopped${unlessCutOff(facts)}`,
  'gossip-silent': (facts) =>
    `no block arrives by gossip (${sinceLastBlock(facts)}), although ${count(facts.mesh, 'peer')} of the mesh ${facts.mesh === 1 ? 'is' : 'are'} connected${l1Moves(facts)}. Either the sequencer does not publish (no key, no peers), or these peers are cut off from it: connect to other peers`,
  'l1-only': (facts) =>
    `blocks are accepted from gossip, but only L1 advances the head${l1Moves(facts)}. They do not extend this node's chain, or the engine refuses them: the log shows which`,
}

function count(number: number, noun: string): string {
  return number === 1 ? `1 ${noun}` : `${number} ${noun}s`
}

function ago(nowMs: number, thenMs: number): string {
  return `${duration(nowMs - thenMs)} ago`
}

function duration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000))
  if (seconds < 120) return `${seconds} s`
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`
}

function sinceLastBlock({ lastBlock, nowMs, startedMs }: TextFacts): string {
  if (lastBlock === null) return `none since the start ${ago(nowMs, startedMs)}`
  return `the last was ${lastBlock.number}, ${ago(nowMs, lastBlock.atMs)}`
}

function l1Moves({ l1Only, nowMs, head }: TextFacts): string {
  if (l1Only.count === 0 || l1Only.sinceMs === null || head === null) return ''
  return ` (L1 advanced the head ${l1Only.count === 1 ? 'once' : `${l1Only.count} times`} in ${duration(nowMs - l1Only.sinceMs)}, to block ${head.number})`
}

function banned({ bans }: TextFacts): string {
  if (bans.length === 0) return ''
  const named = bans.slice(0, MAX_NAMED).map(({ peerID, reason }) => `${peerID}: ${reason}`)
  return `, and ${count(bans.length, 'peer')} ${bans.length === 1 ? 'is' : 'are'} banned (${named.join('; ')}${bans.length > MAX_NAMED ? '; …' : ''})`
}

function staticsDown({ staticPeers }: TextFacts): string {
  const who = staticPeers.length === 1 ? 'the static peer is not' : `none of the ${staticPeers.length} static peers is`
  return `${who} connected (${failures(staticPeers)})`
}

/** The static peers whose dials have failed so far. */
function staticsFailing({ staticPeers }: TextFacts): string {
  const failing = staticPeers.filter(({ connected, failure }) => !connected && failure !== null)
  if (failing.length === 0) return ''
  return `; ${failing.length} of ${count(staticPeers.length, 'static peer')} cannot be reached (${failures(failing)})`
}

function unlessCutOff({ staticPeers }: TextFacts): string {
  const down = staticPeers.filter(({ connected }) => !connected)
  if (down.length === 0) return ''
  return `. Or this node and its peers are cut off from it: ${down.length} of ${count(staticPeers.length, 'static peer')} not connected (${failures(down)})`
}

function failures(staticPeers: readonly StaticPeerHealth[]): string {
  const named = staticPeers.slice(0, MAX_NAMED).map(({ peerID, failure }) => {
    return `${peerID}: ${failure?.text ?? 'no answer yet'}`
  })
  return `${named.join('; ')}${staticPeers.length > MAX_NAMED ? '; …' : ''}`
}

function withoutStatics(facts: TextFacts): string {
  const { connected, subscribers, recent } = facts
  const throughL1 = `so blocks reach this node through L1 only${l1Moves(facts)}`
  if (connected === 0) return `No other peer is connected, ${throughL1}`
  if (subscribers === 0) return `No other peer subscribes to the chain’s blocks, ${throughL1}`
  const others = `No block arrives by gossip (${sinceLastBlock(facts)}) from the ${count(subscribers, 'other peer')}`
  return recent.headMoves.l1 === 0 ? `${others}, and none through L1` : `${others}, ${throughL1}`
}

function staticsAdvice({ staticPeers }: TextFacts): string {
  const areBlocked = staticPeers.some(({ failure }) => failure?.reason === BLOCKED)
  if (areBlocked) return 'devium p2p unblock lifts a block or a ban'
  const areClosed = staticPeers.every(({ failure }) => failure !== null && CLOSED_BY_PEER.has(failure.reason))
  if (areClosed) {
    return 'The peer closes our connections: ask its operator whether this node is blocked. devium p2p check --identity <node key> shows whether its peer id is'
  }
  return 'Make sure that they run and are reachable. devium p2p check shows where a dial fails'
}

function otherChains({ otherChains }: TextFacts): string {
  const ids = [...new Set(otherChains.flatMap(({ chainIDs }) => chainIDs))]
  if (ids.length === 0) return ''
  return ` (they follow ${ids.length === 1 ? 'chain' : 'chains'} ${ids.slice(0, MAX_NAMED).join(', ')}${ids.length > MAX_NAMED ? ', …' : ''})`
}

function reasons(refused: Record<string, number>): string {
  return Object.entries(refused)
    .sort(([, a], [, b]) => b - a)
    .slice(0, MAX_NAMED)
    .map(([reason, times]) => `${reason}: ${times}`)
    .join(', ')
}

function lastOf(refused: RefusedBlock | null): string {
  if (refused === null) return ''
  const block = refused.number === null ? '' : `block ${refused.number} `
  const detail = refused.detail === null ? '' : `, ${refused.detail}`
  return `. The last was ${block}from ${refused.peerID}${detail}`
}

/** By the rejection reason of the last block. */
const ADVICE: Record<string, string> = {
  'wrong-signer': "the signer is not the one in L1's SystemConfig: compare the rollup config with the peers'",
  'no-signer-configured': 'the signer has not been read from L1 yet: check that --l1 answers',
  'too-old': 'compare the clocks of this machine and of the peers',
  'from-future': 'compare the clocks of this machine and of the peers',
  'too-many-at-height': 'the sequencer signs more than one chain',
}

function advice(refused: RefusedBlock | null): string {
  return `. ${sentence(ADVICE[refused?.reason ?? ''] ?? "compare chain id and forks of the rollup config with the peers'")}`
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
