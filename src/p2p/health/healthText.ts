import type { HealthReport, HealthState, RefusedBlock, StaticPeerHealth } from '../base/healthReport.ts'
import type { DialFailureReason } from '../host/dialFailure.ts'
import type { CLOSED_EARLY } from '../peers/staticPeers.ts'
import type { HealthFacts } from './assessHealth.ts'

/** What the text says beyond the facts. */
export type TextFacts = HealthFacts &
  Pick<HealthReport, 'otherChains'> & {
    /** Peers that may not connect for a time. */
    bans: readonly { peerID: string; reason: string }[]
    /** Without a block for this long the monitor speaks of trouble. */
    troubleMs: number
  }

/** One or two sentences for an operator: what is the matter, and what to do about it. */
export function healthText(state: HealthState, facts: TextFacts): string {
  return TEXTS[state](facts)
}

/** Names in a text; the rest is in the report. */
const MAX_NAMED = 3
/** Part of the time to trouble in which blocks are not said to come any more. */
const LATE_PARTS = 4
/** Why a dial failed that our own lists forbade. */
const BLOCKED: DialFailureReason = 'blocked-by-us'
/** Why it failed where a node that does not want us seems to be. */
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
    if (lastBlock === null) return 'blocks come by gossip'
    if (nowMs - lastBlock.atMs < troubleMs / LATE_PARTS) return `blocks come by gossip: ${sinceLastBlock(facts)}`
    const lonely = connected === 0 ? ', and no peer is connected' : ''
    return `blocks came by gossip (${sinceLastBlock(facts)})${lonely}`
  },
  sequencing: ({ lastMoves: { sequencer }, subscribers, nowMs }) =>
    `this node made block ${sequencer?.number ?? 'none'} ${ago(nowMs, sequencer?.atMs ?? nowMs)}; ${
      subscribers === 0
        ? 'no connected peer takes its blocks by gossip, so others get them through L1 only'
        : `${count(subscribers, 'peer')} ${subscribers === 1 ? 'takes' : 'take'} its blocks by gossip`
    }`,
  'catching-up': ({ lastBlock, head }) =>
    `blocks come by gossip (${lastBlock?.number}), but the unsafe head is at ${head?.number}: the gap is closed through L1`,
  'no-peers': (facts) =>
    `no peer is connected${banned(facts)}, so blocks reach this node through L1 only${l1Moves(facts)}. ${facts.bans.length === 0 ? '' : 'devium p2p unblock ends a ban. '}Name peers in --p2p.static or bootnodes in --p2p.bootnodes, and see that others reach the p2p port; devium p2p check says where a dial ends`,
  'static-peers-down': (facts) => `${staticsDown(facts)}, ${withoutStatics(facts)}. ${staticsAdvice(facts)}`,
  'no-subscriber': (facts) =>
    `${count(facts.connected, 'peer')} connected, but none takes part in ${facts.topic}${otherChains(facts)}, so blocks reach this node through L1 only${l1Moves(facts)}. Connect to nodes of this chain; if these are, their forks or chain id differ from this node's rollup config`,
  'no-mesh': (facts) =>
    `no block by gossip (${sinceLastBlock(facts)}): ${count(facts.subscribers, 'peer')} on ${facts.topic}, none in a mesh with this node${l1Moves(facts)}. devium p2p explain shows what a peer's score lacks; a peer may also have us on its own list`,
  'blocks-rejected': ({ recent, lastRefused, topic }) =>
    `not one of the blocks that come on ${topic} is accepted (${reasons(recent.refused)})${lastOf(lastRefused)}${advice(lastRefused)}`,
  'chain-stands-still': (facts) =>
    `no block comes, neither by gossip (${sinceLastBlock(facts)}) nor through L1: the chain seems to stand still${unlessCutOff(facts)}`,
  'gossip-silent': (facts) =>
    `no block by gossip (${sinceLastBlock(facts)}) although ${count(facts.mesh, 'peer')} of the mesh ${facts.mesh === 1 ? 'is' : 'are'} connected${l1Moves(facts)}. Either the sequencer does not publish (no key, no peers), or all of these peers stand apart from it: connect to others`,
  'l1-only': (facts) =>
    `blocks are accepted from gossip, but the head moves through L1 only${l1Moves(facts)}: they do not extend this node's chain, or the engine refuses them; the log tells which`,
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
  return ` (the head advanced ${l1Only.count === 1 ? 'once' : `${l1Only.count} times`} that way in ${duration(nowMs - l1Only.sinceMs)}, to ${head.number})`
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

/** Which static peers could not be dialled so far. */
function staticsFailing({ staticPeers }: TextFacts): string {
  const failing = staticPeers.filter(({ connected, failure }) => !connected && failure !== null)
  if (failing.length === 0) return ''
  return `; ${failing.length} of ${count(staticPeers.length, 'static peer')} cannot be reached (${failures(failing)})`
}

function unlessCutOff({ staticPeers }: TextFacts): string {
  const down = staticPeers.filter(({ connected }) => !connected)
  if (down.length === 0) return ''
  return `, unless this node and its peers are cut off from it: ${down.length} of ${count(staticPeers.length, 'static peer')} not connected (${failures(down)})`
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
  if (connected === 0) return `nor is any other peer, ${throughL1}`
  if (subscribers === 0) return `and no other peer takes part in the chain’s gossip, ${throughL1}`
  const others = `and no block comes by gossip (${sinceLastBlock(facts)}) from the ${count(subscribers, 'other peer')}`
  return recent.headMoves.l1 === 0 ? `${others}, nor any through L1` : `${others}, ${throughL1}`
}

function staticsAdvice({ staticPeers }: TextFacts): string {
  const areBlocked = staticPeers.some(({ failure }) => failure?.reason === BLOCKED)
  if (areBlocked) return 'devium p2p unblock lifts a block, and a ban'
  const areClosed = staticPeers.every(({ failure }) => failure !== null && CLOSED_BY_PEER.has(failure.reason))
  if (areClosed) {
    return 'What runs there ends our connections: ask whether this node is blocked there; devium p2p check --identity <node key> tells whether by its peer id'
  }
  return 'See that they run and are reachable; devium p2p check says where a dial ends'
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
  return `; the last: ${block}from ${refused.peerID}${detail}`
}

/** By reason of the verdict on a block. */
const ADVICE: Record<string, string> = {
  'wrong-signer':
    "they are signed by another key than L1's SystemConfig names: compare the rollup config with the peers'",
  'no-signer-configured': 'the signer was not read from L1 yet: see that --l1 answers',
  'too-old': "compare this machine's clock, and the peers'",
  'from-future': "compare this machine's clock, and the peers'",
  'too-many-at-height': 'the sequencer signs more than one chain',
}

function advice(refused: RefusedBlock | null): string {
  return `. ${sentence(ADVICE[refused?.reason ?? ''] ?? "compare chain id and forks of the rollup config with the peers'")}`
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
