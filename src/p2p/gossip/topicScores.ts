import type { TopicScoreParams } from '@chainsafe/libp2p-gossipsub/score'
import type { BlockScoring } from '../base/options.ts'
import type { RejectReason } from '../base/verdict.ts'

/** op-node's TopicScoreCap of 2024: what all topics together can earn. */
export const TOPIC_SCORE_CAP = 34
const SLOTS_PER_EPOCH = 6
const TIME_IN_MESH_MAX_S = 3_600
/**
 * Times the topic's weight: one message that is no block costs 3 and with that the place in the mesh, four cost 51, after
 * which nothing of the peer is read any more; who sends six before that is banned.
 */
const INVALID_WEIGHT = -4

/** What a counter is multiplied with each slot so that it falls to 1 % in `slots` slots. */
export function scoreDecay(slots: number): number {
  return 0.01 ** (1 / slots)
}

/** op-node's of 2024 (its peer_params.go), which it gave to the pre-Canyon topic only. */
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
 * Ours. Nobody is measured by how many blocks it brings: an honest peer that gets each block from us first brings none.
 * What counts against a peer is what it can be shown to have withheld (`MISSED_AFTER_HEARTBEATS`), kept where gossipsub
 * keeps its mesh failures, and messages that are no blocks, whatever the topic. Time in the mesh and first deliveries
 * count on the topic that carries blocks.
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
 * A mesh peer said so long before that it has the block, and let another bring it: 2 s of heartbeats, the window that
 * gossipsub gives a mesh delivery.
 */
export const MISSED_AFTER_HEARTBEATS = 4

/**
 * Rejections that may be our own fault, or the sequencer's, and not that of the peer that passed the block on: our clock
 * and the age that we accept, a signer that we do not know of yet, too many blocks signed for one height.
 */
export const NOT_TO_BLAME: ReadonlySet<string> = new Set<RejectReason>([
  'too-old',
  'from-future',
  'wrong-signer',
  'too-many-at-height',
])

/** Whether a rejected message counts against the peer that sent it; the reason's name may come out of a history. */
export function isBlamed(scoring: BlockScoring, reason: string): boolean {
  return scoring !== 'current' || !NOT_TO_BLAME.has(reason)
}
