import type { Connection } from '@libp2p/interface'
import type { Clock } from '../../../../lib/clock.ts'
import { describeError } from '../../../../lib/errors.ts'
import { classifyDialFailure } from '../../../../p2p/host/dialFailure.ts'
import type { Identity } from '../../../../p2p/host/identity.ts'
import { tcpMultiaddr } from '../../../../p2p/host/multiaddrs.ts'
import { checkBlocks } from './checkBlocks.ts'
import { checkGossip, checkTopics } from './checkGossip.ts'
import { checkTcp } from './checkTcp.ts'
import { APART_HINT, CLOSED_HINT, closedHint, NO_NOISE_HINT } from './hints.ts'
import { openPeerSession, type PeerFacts, type PeerSession } from './peerSession.ts'
import type { Endpoint } from './resolve.ts'
import { formatMs, printable, type Recorder } from './steps.ts'

export interface ConnectionCheckModules {
  clock: Clock
  record: Recorder
  /** The identity of this dial. */
  identity: Identity
}

export interface ConnectionCheckOptions {
  endpoints: readonly Endpoint[]
  /** The expected peer, if known. */
  peerId: string | undefined
  chainId: bigint | undefined
  blockNumber: number | undefined
  /** The identity is the operator's own key, not a new key. */
  isOwnKey: boolean
  /** The operator's own node runs, does not block the peer, and is not connected to it. */
  isOwnNodeApart: boolean
  timeoutMs: number
  /** How long the connection must stay open. */
  standMs: number
  signal?: AbortSignal | undefined
}

/** Facts about the peer that answered. */
export interface FoundPeer {
  peerId?: string | undefined
  agent?: string | undefined
  chainIds: readonly string[]
}

/** The peer's first gossip message holds its subscriptions. */
const MAX_TOPICS_WAIT_MS = 5_000

/** Checks everything from the TCP connection to the request for a block. */
export async function checkConnection(
  modules: ConnectionCheckModules,
  options: ConnectionCheckOptions,
): Promise<FoundPeer> {
  const endpoint = await checkTcp(modules, options.endpoints, options)
  if (endpoint === undefined) return { chainIds: [] }
  const session = await openPeerSession(modules, endpoint, options)
  try {
    options.signal?.throwIfAborted()
    checkHandshake(modules.record, session, endpoint, options)
    const { trace, connection } = session
    const facts = connection === undefined ? undefined : await checkPeerFacts(modules, session, connection, options)
    return { peerId: trace.peerId, agent: facts?.agent, chainIds: facts?.chainIds ?? [] }
  } finally {
    await session.stop()
  }
}

function checkHandshake(
  record: Recorder,
  session: PeerSession,
  endpoint: Endpoint,
  { peerId, isOwnKey }: ConnectionCheckOptions,
): void {
  const { trace, dialError, connection } = session
  const { securityMs, secureMs } = trace
  const failure = classifyDialFailure(dialError)
  const { reason } = failure
  const isClosed = reason === 'closed' || reason === 'reset'
  const hint = isClosed ? { hint: closedHint(isOwnKey) } : {}
  const data = { reason }
  const earlyMuxerFailed = reason === 'no-muxer' && secureMs === undefined
  if (secureMs === undefined && !earlyMuxerFailed) {
    const { tookMs } = session
    if (securityMs === undefined) {
      const text = reason === 'timeout' ? `no libp2p answer within ${formatMs(tookMs)}` : failure.text
      record('security', 'failed', text, { hint: isClosed ? CLOSED_HINT : NO_NOISE_HINT, tookMs, data })
      return
    }
    const text = isClosed
      ? 'it closed the connection during the noise handshake'
      : `noise handshake failed: ${printable(describeError(trace.securityError ?? dialError), 200)}`
    record('security', 'failed', text, { ...hint, tookMs, data })
    return
  }
  record('security', 'ok', 'noise', { tookMs: secureMs ?? session.tookMs })
  if (trace.peerId !== undefined) checkPeerId(record, trace.peerId, endpoint, peerId)
  if (reason === 'self') {
    record('muxer', 'failed', 'this is the node with the key of --identity', {
      hint: 'repeat the check without --identity',
    })
  } else if (connection === undefined) {
    const text = reason === 'no-muxer' ? 'it supports neither yamux nor mplex' : failure.text
    record('muxer', 'failed', text, { ...hint, tookMs: session.tookMs, data })
  } else {
    const muxer = (trace.muxer ?? connection.multiplexer ?? 'unknown').replace(/^\/(\w+)\/.*$/, '$1')
    record('muxer', 'ok', muxer, { tookMs: (trace.muxerMs ?? session.tookMs) - (secureMs ?? 0) })
  }
}

function checkPeerId(record: Recorder, found: string, endpoint: Endpoint, expected: string | undefined): void {
  const address = `${tcpMultiaddr(endpoint.ip, endpoint.tcpPort)}/p2p/${found}`
  const data = { peerId: found, address }
  if (expected === undefined) {
    record('peer id', 'ok', found, { hint: `the complete address: ${address}`, data })
  } else if (expected === found) {
    record('peer id', 'ok', 'as expected', { data })
  } else {
    record('peer id', 'failed', `found ${found}, expected ${expected}`, {
      hint: `if this is the right node, its address is ${address}`,
      data,
    })
  }
}

/** Undefined when the peer did not report its protocols. */
async function checkPeerFacts(
  modules: ConnectionCheckModules,
  session: PeerSession,
  connection: Connection,
  options: ConnectionCheckOptions,
): Promise<Pick<FoundPeer, 'agent' | 'chainIds'> | undefined> {
  const { clock, record } = modules
  const standsSinceMs = clock.now()
  /** Records a failed step if the connection has ended. */
  const isOver = (when: string): boolean => {
    options.signal?.throwIfAborted()
    const end = session.end()
    if (end === undefined) return false
    record('connection', 'failed', `it closed the connection after ${formatMs(end.afterMs)}, ${when}`, {
      hint: closedHint(options.isOwnKey),
      data: { closedAfterMs: end.afterMs, cause: end.cause },
    })
    return true
  }
  let facts: PeerFacts
  try {
    facts = await session.identify(connection, options.timeoutMs)
  } catch (error) {
    if (isOver('before it answered identify')) return undefined
    record('identify', 'failed', `no answer to identify: ${printable(describeError(error))}`, {
      tookMs: clock.now() - standsSinceMs,
      hint: 'the node hangs, or is not an OP Stack node',
    })
    return undefined
  }
  recordFacts(record, facts, clock.now() - standsSinceMs)
  const found: Pick<FoundPeer, 'agent' | 'chainIds'> = { agent: printable(facts.agent, 60), chainIds: [] }
  if (isOver('after it answered identify')) return found
  if (checkGossip(record, facts.protocols)) {
    const startMs = clock.now()
    const topics = await session.topics(Math.min(options.timeoutMs, MAX_TOPICS_WAIT_MS))
    if (topics.length === 0 && isOver('before it announced a topic')) return found
    found.chainIds = checkTopics(record, topics, options.chainId, clock.now() - startMs)
  }
  await checkBlocks({ clock, record }, connection, facts.protocols, options)
  await session.watch(Math.max(0, options.standMs - (clock.now() - standsSinceMs)))
  if (!isOver('after it announced its topics')) {
    const hint = options.isOwnNodeApart && !options.isOwnKey ? { hint: APART_HINT } : {}
    record('connection', 'ok', `still open after ${formatMs(clock.now() - standsSinceMs)}`, hint)
  }
  return found
}

function recordFacts(record: Recorder, facts: PeerFacts, tookMs: number): void {
  const { agent, protocolVersion, protocols, observedAddress } = facts
  const text = [
    agent === '' ? 'no name' : printable(agent, 60),
    ...(protocolVersion === '' ? [] : [printable(protocolVersion, 30)]),
    `${protocols.length} protocols`,
    ...(observedAddress === undefined ? [] : [`sees us at ${observedAddress}`]),
  ].join(', ')
  record('identify', 'ok', text, {
    tookMs,
    data: {
      agent: printable(agent, 200),
      protocolVersion: printable(protocolVersion, 200),
      protocols: protocols.map((protocol) => printable(protocol, 200)),
      observedAddress: observedAddress ?? null,
    },
  })
}
