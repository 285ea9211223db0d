import { randomBytes } from 'node:crypto'
import { systemClock } from '../../src/lib/clock.ts'
import { keccak256 } from '../../src/lib/hash.ts'
import { silentLogger } from '../../src/lib/logger.ts'
import { recoverCompact } from '../../src/lib/secp256k1.ts'
import { createP2pEvents } from '../../src/p2p/base/events.ts'
import { DEFAULT_P2P_OPTIONS, type P2pOptions } from '../../src/p2p/base/options.ts'
import { blocksTopic } from '../../src/p2p/base/topics.ts'
import type { Verdict } from '../../src/p2p/base/verdict.ts'
import type { InboundMessage } from '../../src/p2p/gossip/inboundMessage.ts'
import { createGossipRouter, gossipService } from '../../src/p2p/gossip/router.ts'
import { gossipScoring } from '../../src/p2p/gossip/scoreParams.ts'
import { createHost, type Host, startHost } from '../../src/p2p/host/host.ts'
import { identityFromRawKey } from '../../src/p2p/host/identity.ts'
import { type IdentifiedMessage, messageId, type Unpacked, unpackMessage } from '../../src/p2p/inspection/messageId.ts'
import { createPeerQuotas } from '../../src/p2p/quotas/quotas.ts'
import { CHAIN_ID, testBlock, testConfig } from '../../src/p2p/testUtils/testChain.ts'
import { answerCalls } from './calls.ts'
import { measureLoopDelay, measureUsage, nowMs } from './measures.ts'

// One of our hosts among the rival's: our host and router. Its validator does the same work as theirs, because they publish a
// signature and random bytes, not blocks.

const VERSION = 3
const TOPIC = blocksTopic(CHAIN_ID, VERSION)
const SIGNATURE_BYTES = 65
/** First byte of a compact signature: 27, plus 4 for a compressed key, plus the recovery id. */
const COMPACT_BASE = 31
/** Number of messages that our own node compares before it computes an id. */
const RECENT = 8

const IDLE_AFTER_MS = 600
const IDLE_MS = 1_000

interface Moment {
  atMs: number
  cpuMs: number
  copies: number
}

const usage = measureUsage()
const block = testBlock(testConfig())
let signer = ''
let warmup = 0
let seen = 0
let copies = 0
let first: Moment | undefined
let last: Moment = { atMs: 0, cpuMs: 0, copies: 0 }
let idleTimer: ReturnType<typeof setTimeout> | undefined
let idleShare = 0
let loopDelayP99: (() => number) | undefined

/** After the last block, when no more copies arrive. */
function measureIdle(): void {
  const before = usage().cpuMs
  idleTimer = setTimeout(() => {
    idleShare = (usage().cpuMs - before) / IDLE_MS
  }, IDLE_MS)
}

function judge(unpacked: Unpacked): Verdict {
  if (!unpacked.ok || unpacked.data === undefined) return { result: 'reject', reason: 'snappy-damaged' }
  const { data } = unpacked
  const hash = keccak256(data.subarray(SIGNATURE_BYTES))
  const recoveryId = (data[0] ?? 0) - COMPACT_BASE
  if (recoveryId !== 0 && recoveryId !== 1) return { result: 'reject', reason: 'bad-signature' }
  const key = recoverCompact(hash, data.subarray(1, SIGNATURE_BYTES), recoveryId)
  const x = Buffer.from(key)
    .subarray(key.length - 64, key.length - 32)
    .toString('hex')
  if (x !== signer.slice(2)) return { result: 'reject', reason: 'wrong-signer' }
  seen += 1
  const now = { atMs: nowMs(), cpuMs: usage().cpuMs, copies }
  if (seen > warmup && first === undefined) {
    first = now
    loopDelayP99 = measureLoopDelay()
  }
  last = now
  clearTimeout(idleTimer)
  idleTimer = setTimeout(measureIdle, IDLE_AFTER_MS)
  return { result: 'accept', envelope: block }
}

function createRivalIds() {
  const recent: { compressed: Uint8Array; identified: IdentifiedMessage }[] = []
  return {
    identify({ topic, data: compressed }: InboundMessage): IdentifiedMessage {
      const known = recent.find((entry) => Buffer.compare(entry.compressed, compressed) === 0)
      if (known !== undefined) return known.identified
      const unpacked = unpackMessage(compressed)
      const id = messageId(topic, compressed, unpacked)
      const identified = { id, unpacked }
      recent.unshift({ compressed, identified })
      recent.length = Math.min(recent.length, RECENT)
      return identified
    },
  }
}

const calls = {
  async open(): Promise<string> {
    const options: P2pOptions = {
      ...DEFAULT_P2P_OPTIONS,
      listenIp: '127.0.0.1',
      listenTcpPort: 0,
      peersLow: 200,
      peersHigh: 300,
    }
    const topics = new Map([[VERSION, TOPIC]] as const)
    const scoring = gossipScoring(options, { blockTimeS: 1, appScore: () => 0, topics, version: VERSION })
    const chainTopics = {
      byVersion: topics,
      versionOf: (topic: string) => (topic === TOPIC ? VERSION : undefined),
    } as const
    const events = createP2pEvents({ logger: silentLogger })
    events.on('traced', (event) => {
      if (event === 'DELIVER_MESSAGE' || event === 'DUPLICATE_MESSAGE') copies += 1
    })
    const quotas = createPeerQuotas({ clock: systemClock, penalise: () => {} })
    const service = gossipService({ topics: chainTopics, scoring }, options.gossip)
    const host: Host = await createHost(
      {
        identity: identityFromRawKey(new Uint8Array(randomBytes(32))),
        gater: {},
        datastore: undefined,
        pubsub: service.create,
        muxerGuard: { clock: systemClock, onAbuse: () => {} },
      },
      options,
    )
    const router = createGossipRouter(
      host.services.pubsub,
      {
        clock: systemClock,
        logger: silentLogger,
        events,
        service,
        topics: chainTopics,
        scoring,
        quotas,
        ids: createRivalIds(),
        validate: (_, unpacked) => judge(unpacked),
        isAlwaysServed: () => false,
        connectionsOf: (peer) => host.getConnections(peer),
        protocolsOf: async () => [],
        onSlowReader: () => {},
      },
      options.gossip,
    )
    await startHost(host, { clock: systemClock, quotas: quotas }, options)
    router.join()
    return host.getMultiaddrs()[0]?.toString() ?? ''
  },
  expect(order: { signer: string; warmup: number }): void {
    signer = order.signer
    warmup = order.warmup
  },
  result() {
    const counted = seen - warmup - 1
    return {
      blocks: seen - warmup,
      idlePerBlock: (idleShare * (last.atMs - (first?.atMs ?? 0))) / counted,
      cpuPerBlock: (last.cpuMs - (first?.cpuMs ?? 0)) / counted,
      copies: (last.copies - (first?.copies ?? 0)) / counted,
      loopDelayP99: loopDelayP99?.() ?? Number.NaN,
    }
  },
}

export type JoinCalls = typeof calls
answerCalls(calls)
