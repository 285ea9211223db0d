import { z } from 'zod'
import { type Clock, sleep } from '../../../lib/clock.ts'
import { describeError } from '../../../lib/errors.ts'
import { untilAborted } from '../../../lib/untilAborted.ts'
import type { WakeUp } from '../../../lib/wakeUp.ts'
import type { NodeClient } from '../../../rpc/client/index.ts'
import { EVENTS } from '../../../rpc/schemas/events.ts'
import { nodeHealth } from '../../../rpc/schemas/health.ts'
import { ifServed } from '../nodeCommand.ts'
import { nameOfPeers, requestPeerNames } from '../p2p/peerNames.ts'
import { banEventLine, derivationEventLine, peerEventLine } from './eventLines.ts'
import { readPeers } from './watchPeers.ts'
import type { EventLine, NodeUpdate } from './watchState.ts'

export interface FeedModules {
  node: NodeClient
  clock: Clock
  emit: (update: NodeUpdate) => void
  /** Ends the pause before the next poll. */
  wakeUp: WakeUp
}

const POLL_MS = 2_000
/** The poll reads all peers, so its interval grows with their number. */
const MS_PER_PEER = 50
const RETRY_MS = 1_000

const healthSchema = nodeHealth
  .pick({ state: true, ok: true, text: true, causes: true, derivation: true, gossip: true })
  .transform(({ derivation, gossip, ...verdict }) => ({ verdict, derivation, gossip: gossip ?? undefined }))

/** Reports the node's state until the signal aborts. Reconnects after each lost connection. Never rejects. */
export async function followNode(modules: FeedModules, signal: AbortSignal): Promise<void> {
  const { clock, emit } = modules
  while (!signal.aborted) {
    const connection = new AbortController()
    try {
      await untilAborted(followOnce(modules, AbortSignal.any([signal, connection.signal])), signal)
    } catch (error) {
      if (signal.aborted) return
      emit({ kind: 'lost', atMs: clock.now(), problem: problemOf(error) })
    } finally {
      connection.abort()
    }
    await sleep(clock, RETRY_MS, signal).catch(() => {})
  }
}

/** Rejects when the connection is lost, or an answer is malformed. */
async function followOnce(modules: FeedModules, signal: AbortSignal): Promise<void> {
  const { node, clock, emit } = modules
  const version = z.string().parse(await node.request('devium_version', [], { signal }))
  const hasPeers = (await ifServed(node, 'deviump2p_self', [])) !== undefined
  const names = hasPeers ? await requestPeerNames(node) : {}
  const nameOf = nameOfPeers(names)
  // The node counts as connected only after both a head and a poll have succeeded.
  const parts = new Set(['heads', 'poll'])
  const received = (part: string) => {
    if (parts.delete(part) && parts.size === 0) emit({ kind: 'connected', atMs: clock.now(), version, hasPeers })
  }
  const happened = (line: EventLine | undefined) => {
    if (line !== undefined) emit({ kind: 'event', line })
  }
  const onPeers = (event: unknown) => {
    const change = EVENTS.peers.parse(event)
    if (change.event === 'scores') emit({ kind: 'scores', scores: change.scores })
    else modules.wakeUp.wake()
    happened(peerEventLine(change, clock.now(), nameOf))
  }
  const onBans = (event: unknown) => {
    happened(banEventLine(EVENTS.bans.parse(event), clock.now(), nameOf))
    modules.wakeUp.wake()
  }
  const onHeads = (event: unknown) => {
    emit({ kind: 'heads', heads: EVENTS.heads.parse(event) })
    received('heads')
  }
  const onDerivation = (event: unknown) => happened(derivationEventLine(EVENTS.derivation.parse(event), clock.now()))
  await Promise.all([
    node.subscribe('heads', onHeads, signal),
    node.subscribe('derivation', onDerivation, signal),
    ...(hasPeers ? [node.subscribe('peers', onPeers, signal), node.subscribe('bans', onBans, signal)] : []),
    poll(modules, { hasPeers, names, onPoll: () => received('poll') }, signal),
  ])
}

/** Polls the state that has no subscription. */
async function poll(
  { node, clock, emit, wakeUp }: FeedModules,
  { hasPeers, names, onPoll }: { hasPeers: boolean; names: Readonly<Record<string, string>>; onPoll: () => void },
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const [health, peers] = await Promise.all([
      node.request('devium_health', []),
      hasPeers ? readPeers(node, names) : [],
    ])
    emit({
      kind: 'health',
      atMs: clock.now(),
      ...healthSchema.parse(health),
    })
    emit({ kind: 'peers', peers })
    onPoll()
    await wakeUp.wait(signal, Math.max(POLL_MS, peers.length * MS_PER_PEER))
  }
}

function problemOf(error: unknown): string {
  if (!(error instanceof z.ZodError)) return describeError(error)
  const [{ path, message } = { path: [], message: '' }] = error.issues
  return `it does not answer like a devium node at ${path.join('.')}: ${message}`
}
