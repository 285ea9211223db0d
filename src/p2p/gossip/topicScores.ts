import type { TopicScoreParams } from '@chainsafe/libp2p-gossipsub/score'
import type { BlockScoring } from '../base/options.ts'
import type { RejectReason } from '../base/verdict.ts'

/** op-node's TopicScoreCap of 2024: the maximum of all topics together. */
export const TOPIC_SCORE_CAP = 34
export const SLOTS_PER_EPOCH = 6
const TIME_IN_MESH_MAX_S = 3_600
/**
 * Multiplied by the topic's weight: one invalid message costs 3 and the place in the mesh. Four cost 51, which
 * graylists the peer. Six are a ban.
 */
const INVALID_WEIGHT = -4

/** The factor per slot that reduces a counter to 1 % in `slots` slots. */
export function scoreDecay(slots: number): number {
  return 0.01 ** (1 / slots)
}

/** A smaller counter becomes 0. */
export const DECAY_TO_ZERO = 0.01

/** A counter after that many slots without events. */
export function decayed(count: number, factor: number, slots = 1): number {
  const left = count * factor ** slots
  return left < DECAY_TO_ZERO ? 0 : left
}

/** gossipsub's counters that decay, each with a parameter for its decay. */
export type DecayingCounter =
  | 'firstMessageDeliveries'
  | 'meshMessageDeliveries'
  | 'meshFailurePenalty'
  | 'invalidMessageDeliveries'

/** The counters of a peer on one topic after that many slots without events. */
export function decayedTopic(
  counters: Readonly<Record<DecayingCounter, number>>,
  params: TopicScoreParams,
  slots = 1,
): Record<DecayingCounter, number> {
  const left = (name: DecayingCounter): number => decayed(counters[name], params[`${name}Decay`], slots)
  return {
    firstMessageDeliveries: left('firstMessageDeliveries'),
    meshMessageDeliveries: left('meshMessageDeliveries'),
    meshFailurePenalty: left('meshFailurePenalty'),
    invalidMessageDeliveries: left('invalidMessageDeliveries'),
  }
}

/** op-node's parameters of 2024 (its peer_params.go), which it applied to the pre-Canyon topic only. */
export function opNode2024Params(slotMs: number): TopicScoreParams {
  const timeInMeshCap = (TIME_IN_MESH_MAX_S * 1000) / slotMs
  return {
    topicWeight: 0.8,
    timeInMeshWeight: 10 / timeInMeshCap,
    timeInMeshQuantum: slotMs,
    timeInMeshCap,
    firstMessageDeliveriesWeight: 1,
    firstMessageDeliveriesDecay: scoreDecay(20 * SLOTS_PER_EPOCH),
    firstMessageDeliveriesCap: 23,
    meshMessageDeliveriesWeight: -0.7,
    meshMessageDeliveriesDecay: scoreDecay(5 * SLOTS_PER_EPOCH),
    meshMessageDeliveriesCap: 30,
    meshMessageDeliveriesThreshold: 3,
    meshMessageDeliveriesWindow: 2_000,
    meshMessageDeliveriesActivation: 4 * SLOTS_PER_EPOCH * slotMs,
    meshFailurePenaltyWeight: -0.7,
    meshFailurePenaltyDecay: scoreDecay(5 * SLOTS_PER_EPOCH),
    invalidMessageDeliveriesWeight: -140.4475,
    invalidMessageDeliveriesDecay: scoreDecay(50 * SLOTS_PER_EPOCH),
  }
}

/**
 * devium's parameters. The number of deliveries is not scored: an honest peer that receives each block from us first
 * delivers none. Penalties are for announced blocks that the peer did not deliver (`MISSED_AFTER_HEARTBEATS`, stored as
 * gossipsub's mesh failures), and for invalid messages on any topic. Time in mesh and first deliveries count on the
 * topic that carries blocks.
 */
export function blockTopicParams(slotMs: number, carriesBlocks: boolean): TopicScoreParams {
  const params = opNode2024Params(slotMs)
  return {
    ...params,
    ...(carriesBlocks ? {} : { timeInMeshWeight: 0, firstMessageDeliveriesWeight: 0, meshFailurePenaltyWeight: 0 }),
    meshMessageDeliveriesWeight: 0,
    meshMessageDeliveriesThreshold: 0,
    invalidMessageDeliveriesWeight: INVALID_WEIGHT,
  }
}

/**
 * A mesh peer missed a delivery when it announced a block this many heartbeats (2 s) before another peer delivered it.
 * gossipsub allows the same window for a mesh delivery.
 */
export const MISSED_AFTER_HEARTBEATS = 4

/**
 * Rejections that may be a fault of this node or of the sequencer, not of the sender: our clock and the accepted age, a
 * signer that we do not know yet, too many signed blocks at one height.
 */
export const NOT_PENALISED: ReadonlySet<string> = new Set<RejectReason>([
  'too-old',
  'from-future',
  'wrong-signer',
  'too-many-at-height',
])

/** True: the rejection lowers the sender's score. `reason` may come from a stored history. */
export function isPenalised(scoring: BlockScoring, reason: string): boolean {
  return scoring !== 'current' || !NOT_PENALISED.has(reason)
}
