import { countOf, sinceText } from '../../../lib/phrases.ts'
import { flowCause } from './blockFlow.ts'
import { type Cause, cause, checkCommand, GRACE_MS, type HealthFacts } from './facts.ts'

/** `stopped`: no block is built or received. `degraded`: blocks arrive, but something needs attention. */
export const VERDICT_STATES = ['healthy', 'degraded', 'stopped'] as const
export type VerdictState = (typeof VERDICT_STATES)[number]

export interface Verdict {
  state: VerdictState
  /** Causes come before their consequences. Empty for a healthy node. */
  causes: Cause[]
}

/** After this time without a block, L1 counts as halted, whatever its block time. */
const L1_SILENT_MS = 300_000

/** The only assessment of a whole node. All views, probes and log lines show this verdict. */
export function judge(facts: HealthFacts): Verdict {
  const flow = flowCause(facts)
  const derivation = derivationCauses(facts, flow)
  const missing = flow === undefined ? [] : [flow]
  // If blocks come only from derivation, its causes come first.
  const derivesOnly = facts.sequencer === undefined && facts.lastBlock?.from !== 'peers'
  const causes = [
    ...(derivesOnly ? [...derivation, ...missing] : [...missing, ...derivation]),
    ...l1Causes(facts),
    ...gossipCauses(facts, flow),
    ...sequencerCauses(facts),
    ...batcherCauses(facts),
  ]
  if (causes.length === 0) return { state: 'healthy', causes }
  return { state: causes.some(({ stops }) => stops) ? 'stopped' : 'degraded', causes }
}

/** `Sequencer is healthy. It sealed block 183 and gossips to 5 peers.` */
export function verdictText(subject: string, { state, causes }: Verdict, facts: HealthFacts): string {
  const headline = `${subject.charAt(0).toUpperCase()}${subject.slice(1)} is ${state}.`
  const [first] = causes
  return `${headline} ${first === undefined ? healthyText(facts) : sentence(first.text)}`
}

function healthyText({ sequencer, gossip, lastBlock, head, follows }: HealthFacts): string {
  const number = lastBlock?.number ?? head?.number
  const peers = countOf(gossip?.connected ?? 0, 'peer')
  if (sequencer?.active === true) {
    const taken = gossip === undefined ? 'runs without peers' : `gossips to ${countOf(gossip.subscribers, 'peer')}`
    return lastBlock?.from === 'sequencer' ? `It sealed block ${number} and ${taken}.` : `Its head is block ${number}.`
  }
  const standby = sequencer === undefined ? '' : ' Its own sequencer is not active.'
  const followed = follows === undefined ? '' : ` It follows ${follows}.`
  const got = { peers: 'received', l1: 'derived', sequencer: 'sealed' }[lastBlock?.from ?? 'peers']
  const what = lastBlock === undefined ? `Its head is block ${number}` : `It ${got} block ${number}`
  const from = gossip === undefined ? ' and runs without peers' : ` and has ${peers}`
  return `${what}${from}.${standby}${followed}`
}

function derivationCauses({ derivation }: HealthFacts, flow: Cause | undefined): Cause[] {
  const { state, ok, text, command } = derivation
  if (ok || flow?.code === state) return []
  return [cause(state, text, { command, hurtsOthersOnly: state === 'batcher-stopped' })]
}

function l1Causes({ nowMs, l1HeadAtMs, derivation, sequencer }: HealthFacts): Cause[] {
  if (l1HeadAtMs === undefined || nowMs - l1HeadAtMs < L1_SILENT_MS) return []
  if (['l1-down', 'l1-unreadable'].includes(derivation.state)) return []
  const limit = sequencer?.active === true ? ' The sequencer continues only up to its drift limit.' : ''
  const text = `L1 has had no new block for ${sinceText(nowMs - l1HeadAtMs)}.${limit}`
  return [cause('l1-stands-still', text, { hurtsOthersOnly: true })]
}

/**
 * For a node that gets blocks, though not by gossip. A node without blocks reports its peers' part in its own cause.
 */
function gossipCauses({ gossip, sequencer }: HealthFacts, flow: Cause | undefined): Cause[] {
  if (gossip === undefined || gossip.ok || sequencer?.active === true) return []
  // If the chain halts, the missing blocks are the cause. They also show sooner when the chain continues.
  if (flow?.stops === true || [flow?.code, 'chain-stands-still'].includes(gossip.state)) return []
  return [cause(gossip.state, gossip.text, { command: checkCommand(gossip) })]
}

function sequencerCauses({ sequencer, gossip, nowMs, startedMs }: HealthFacts): Cause[] {
  if (sequencer?.active !== true) return []
  const causes: Cause[] = []
  const isPastGrace = nowMs - startedMs >= GRACE_MS
  if (gossip?.connected === 0 && (gossip.hadPeers || (isPastGrace && gossip.staticPeers.length > 0))) {
    const what = gossip.hadPeers ? 'The sequencer has lost all its peers.' : 'No peer of the sequencer is connected.'
    const command = checkCommand(gossip)
    causes.push(forOthers('no-peers', `${what} Other nodes get its blocks through L1 only.`, command))
  } else if (gossip !== undefined && gossip.connected > 0 && gossip.subscribers === 0 && isPastGrace) {
    const what = `${countOf(gossip.connected, 'peer')} connected, but none subscribes to this chain's blocks.`
    causes.push(forOthers('no-subscriber', `${what} Other nodes get blocks through L1 only.`))
  }
  if (sequencer.publishProblem !== undefined) {
    const text = `The last block was not published: ${sequencer.publishProblem}. Other nodes get it through L1 only.`
    causes.push(forOthers('not-published', text))
  }
  return causes
}

function batcherCauses({ batcher, derivation }: HealthFacts): Cause[] {
  if (batcher === undefined || batcher.ok || derivation.state === 'batcher-stopped') return []
  if (!batcher.isStopped) {
    const isNamed = batcher.text.startsWith('the batch submitter')
    const text = isNamed ? batcher.text : `The batch submitter reports a problem: ${batcher.text}`
    return [forOthers('batch-submitter', sentence(text))]
  }
  return [forOthers('batcher-stopped', 'The batch submitter is stopped.', batcher.startCommand)]
}

function forOthers(code: string, text: string, command?: string): Cause {
  return cause(code, text, { command, hurtsOthersOnly: true })
}

/** Adds a capital letter and a full stop if missing. */
function sentence(text: string): string {
  const whole = text.charAt(0).toUpperCase() + text.slice(1)
  return /[.!?…]$/.test(whole) ? whole : `${whole}.`
}
