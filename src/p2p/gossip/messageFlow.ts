import { type Message, TopicValidatorResult } from '@chainsafe/libp2p-gossipsub'
import { LruMap } from '../../lib/lruMap.ts'
import { turnsPass } from '../../lib/nextTurn.ts'
import type { PayloadEnvelope } from '../../rollup/protocol/types.ts'
import type { GossipScoring } from '../score/scoreParams.ts'
import type { Verdict } from './blockValidator.ts'
import { createFairTurns } from './fairTurns.ts'
import type { GossipInternals } from './gossipInternals.ts'
import { idText, type MessageNames } from './idDialects.ts'
import { InspectionFailure } from './inspectionProcess.ts'
import type { KnownMessage } from './knownFrames.ts'
import { type IdentifiedMessage, identifyMessage, type MessageIds, type Unpacked } from './messageId.ts'
import { countMissed } from './missedBlocks.ts'
import type { DialectHooks } from './speakBothDialects.ts'
import type { ChainTopics, PayloadVersion } from './topics.ts'

/** How messages are named and judged, and who hears of it. */
export interface Judgement {
  ids: MessageIds
  scoring: GossipScoring
  /** Judges a message of a block topic; the verdict decides whether it travels on. */
  validate(version: PayloadVersion, unpacked: Unpacked): Verdict | Promise<Verdict>
  /** Hears of every judged message. */
  onVerdict(from: string, version: PayloadVersion, verdict: Verdict): void
  /** A new valid block of another node, before it is passed on. */
  onBlock(envelope: PayloadEnvelope, from: string): void
}

export interface MessageFlowModules extends Judgement {
  topics: Pick<ChainTopics, 'versionOf'>
  internals: GossipInternals
  names: DialectHooks
  /** Who sent a large message with these bytes. */
  senderOf(data: Uint8Array): string | undefined
  onEvent(event: 'DELIVER_MESSAGE' | 'REJECT_MESSAGE'): void
  /** The message with these bytes was a new block. */
  onAccepted(data: Uint8Array, message: KnownMessage): void
  /** A new block, or one of our own, and its time in Unix seconds. */
  onValid(id: string, blockTimeS: number): void
}

export interface Rejection {
  version: PayloadVersion
  verdict: Verdict
}

export interface OwnMessage {
  bytes: Uint8Array
  blockTimeS: number
}

/** What becomes of a message in gossipsub's hands: it is named, judged, and handed over or not. */
export interface MessageFlow {
  /** What this node publishes is not unpacked, and does not queue behind what strangers send. */
  addOwn(compressed: Uint8Array, message: OwnMessage): void
  /** Its id. Throws, or rejects, when there is none: the library then drops it, and blames nobody. */
  identify(message: Message): Uint8Array | Promise<Uint8Array>
  /** Called right after the library has found the id to be new. */
  judge(from: string, version: PayloadVersion, message: Message): TopicValidatorResult | Promise<TopicValidatorResult>
  /** How the message of this id, as inside, was rejected. */
  rejectionOf(id: string): Rejection | undefined
}

/** Rejected messages whose copies are told apart from those of good ones. */
const REJECTED_REMEMBERED = 512

/** Smaller messages are sent as cheaply as not. */
const HEAR_MIN_BYTES = 16 * 1024
/**
 * Turns of the event loop from a block's delivery here to its passing on, microseconds where there is nothing else to do.
 * One: first copies that wait in the sockets are read before any more copies are written.
 */
const PASS_ON_TURNS = 1
/**
 * Of large messages: peers that got the block at the same time say so, and their word is on its way into the sockets. What
 * was sent while one turn reads is read in the next one, and most copies need not be sent.
 */
const HEARING_TURNS = 2

const RESULTS = {
  accept: TopicValidatorResult.Accept,
  ignore: TopicValidatorResult.Ignore,
  reject: TopicValidatorResult.Reject,
} as const

export function createMessageFlow(modules: MessageFlowModules, options: { idontwantMinBytes: number }): MessageFlow {
  const { ids, scoring, topics, internals, names } = modules
  const hearMinBytes = Math.max(HEAR_MIN_BYTES, options.idontwantMinBytes)
  const turns = createFairTurns()
  /** Messages of this node, by their compressed bytes. */
  const own = new WeakMap<Uint8Array, OwnMessage>()
  /** What the id was computed from is what is judged. */
  const identifiedOf = new WeakMap<Message, { unpacked: Unpacked; both: MessageNames }>()
  const rejected = new LruMap<string, Rejection>(REJECTED_REMEMBERED)

  const remember = (message: Message, { id, idWithoutTopic, unpacked }: IdentifiedMessage): Uint8Array => {
    const both = { withTopic: id, withoutTopic: idWithoutTopic }
    identifiedOf.set(message, { unpacked, both })
    names.onIdentified(both)
    return id
  }
  const identifyOwn = (message: Message, { bytes, blockTimeS }: OwnMessage): Uint8Array => {
    const unpacked = { ok: true, data: bytes } as const
    const identified = identifyMessage(message.topic, message.data, unpacked, names.needsBoth())
    modules.onValid(idText(identified.id), blockTimeS)
    names.onValid({ withTopic: identified.id, withoutTopic: identified.idWithoutTopic }, message)
    return remember(message, identified)
  }
  const identifyNow = (message: Message): Uint8Array | Promise<Uint8Array> => {
    const from = modules.senderOf(message.data)
    const identified = ids.idOf(message.topic, message.data, { from, both: names.needsBoth() })
    if (!(identified instanceof Promise)) return remember(message, identified)
    return identified.then(
      (result) => remember(message, result),
      (error: unknown) => {
        const version = topics.versionOf(message.topic)
        if (from !== undefined && version !== undefined && error instanceof InspectionFailure) {
          modules.onVerdict(from, version, { result: 'ignore', reason: error.reason, detail: error.message })
        }
        throw error
      },
    )
  }

  const settle = (
    from: string,
    version: PayloadVersion,
    message: Message,
    verdict: Verdict,
    both: MessageNames,
  ): TopicValidatorResult => {
    modules.onVerdict(from, version, verdict)
    // A block seen before in another message is as good as this one to those who tell of it.
    if (verdict.result === 'accept' || verdict.reason === 'already-seen') names.onValid(both, message)
    if (verdict.result === 'accept') {
      const id = idText(both.withTopic)
      modules.onAccepted(message.data, { topic: message.topic, id })
      modules.onValid(id, verdict.envelope.payload.timestamp)
      modules.onEvent('DELIVER_MESSAGE')
      modules.onBlock(verdict.envelope, from)
      if (isMissedCounted(message.topic)) countMissed(internals, message.topic, both.withTopic, from)
      return RESULTS.accept
    }
    modules.onEvent('REJECT_MESSAGE')
    if (verdict.result === 'ignore') return RESULTS.ignore
    rejected.set(idText(both.withTopic), { version, verdict })
    // Not accepted either way; gossipsub's scores make the difference.
    return scoring.blames(verdict.reason) ? RESULTS.reject : RESULTS.ignore
  }
  const isMissedCounted = (topic: string): boolean => {
    const params = scoring.params.topics[topic]
    return params !== undefined && params.meshMessageDeliveriesWeight === 0 && params.meshFailurePenaltyWeight !== 0
  }

  return {
    addOwn: (compressed, message) => own.set(compressed, message),
    identify(message) {
      const ours = own.get(message.data)
      if (ours !== undefined) return identifyOwn(message, ours)
      const turn = turns.take()
      const named = () => turns.measure(() => identifyNow(message))
      return turn === undefined ? named() : turn.then(named)
    },
    judge(from, version, message) {
      const identified = identifiedOf.get(message)
      identifiedOf.delete(message)
      if (identified === undefined) return RESULTS.ignore
      const done = (verdict: Verdict) => settle(from, version, message, verdict, identified.both)
      const validate = () => {
        const verdict = turns.measure(() => modules.validate(version, identified.unpacked))
        return verdict instanceof Promise ? verdict.then(done) : done(verdict)
      }
      const turn = turns.goOn()
      const result = turn === undefined ? validate() : turn.then(validate)
      return turnsLater(result, message.data.length < hearMinBytes ? PASS_ON_TURNS : HEARING_TURNS)
    },
    rejectionOf: (id) => rejected.get(id),
  }
}

async function turnsLater<T>(result: T | Promise<T>, turns: number): Promise<T> {
  const final = await result
  await turnsPass(turns)
  return final
}
