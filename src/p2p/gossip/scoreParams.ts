import type { PeerScoreParams, PeerScoreThresholds, TopicScoreParams } from '@chainsafe/libp2p-gossipsub/score'
import { parseCidr, parseIp, subnetContains } from '../../lib/ipNet.ts'
import type { P2pOptions } from '../base/options.ts'
import type { PayloadVersion } from '../base/topics.ts'
import {
  blockTopicParams,
  DECAY_TO_ZERO,
  isPenalised,
  opNode2024Params,
  SLOTS_PER_EPOCH,
  scoreDecay,
  TOPIC_SCORE_CAP,
} from './topicScores.ts'

/** op-node's block time for a chain that has none. */
const DEFAULT_SLOT_S = 2

export interface GossipScoring {
  params: PeerScoreParams & { IPColocationFactorWhitelist: IpRangeSet }
  thresholds: PeerScoreThresholds
  /** True: a rejection for this reason lowers the sender's score. */
  penalises(reason: string): boolean
  /**
   * The topic parameters when the topic of this version carries the chain's blocks; undefined when they never change.
   */
  topicsFor(carrying: PayloadVersion): Record<string, TopicScoreParams> | undefined
}

/** op-node's global parameters (peer_params.go) with the topics that `scoreBlocks` selects. */
export function gossipScoring(
  options: Pick<P2pOptions, 'scoring' | 'ipColocationExempt' | 'scoreBlocks'>,
  chain: {
    blockTimeS: number
    appScore: (peerId: string) => number
    topics: ReadonlyMap<PayloadVersion, string>
    /** Version of the topic that carries blocks now. */
    version: PayloadVersion
  },
): GossipScoring {
  const light = options.scoring === 'light'
  const slotMs = slotMilliseconds(chain.blockTimeS)
  const epochMs = SLOTS_PER_EPOCH * slotMs
  const scored = light ? options.scoreBlocks : 'none'
  const topicsFor = (carrying: PayloadVersion): Record<string, TopicScoreParams> =>
    Object.fromEntries([...chain.topics].map(([v, topic]) => [topic, blockTopicParams(slotMs, v === carrying)]))
  const oldest = chain.topics.get(1)
  const topics =
    scored === 'current'
      ? topicsFor(chain.version)
      : scored === 'op-node-2024' && oldest !== undefined
        ? { [oldest]: opNode2024Params(slotMs) }
        : {}
  return {
    params: {
      topics,
      topicScoreCap: scored === 'none' ? 0 : TOPIC_SCORE_CAP,
      appSpecificScore: light ? chain.appScore : () => 0,
      appSpecificWeight: 1,
      IPColocationFactorWeight: light ? -35 : 0,
      IPColocationFactorThreshold: 10,
      IPColocationFactorWhitelist: new IpRangeSet(options.ipColocationExempt),
      behaviourPenaltyWeight: light ? -16 : 0,
      behaviourPenaltyThreshold: 6,
      behaviourPenaltyDecay: scoreDecay(10 * SLOTS_PER_EPOCH),
      decayInterval: slotMs,
      decayToZero: DECAY_TO_ZERO,
      retainScore: 100 * epochMs,
    },
    thresholds: {
      gossipThreshold: -10,
      publishThreshold: -40,
      graylistThreshold: -40,
      acceptPXThreshold: 20,
      opportunisticGraftThreshold: 0.05,
    },
    penalises: (reason) => isPenalised(scored, reason),
    topicsFor: (carrying) => (scored === 'current' ? topicsFor(carrying) : undefined),
  }
}

/** Scores decay once a block time. The library requires at least a second. */
export function slotMilliseconds(blockTimeS: number): number {
  return Math.max(1, blockTimeS === 0 ? DEFAULT_SLOT_S : blockTimeS) * 1000
}

/** The library supports a set of exact addresses only. This set contains whole ranges. */
export class IpRangeSet extends Set<string> {
  private readonly ranges

  constructor(cidrs: readonly string[]) {
    super()
    this.ranges = cidrs.map((cidr) => ({ cidr, subnet: parseCidr(cidr) }))
  }

  override has(ip: string): boolean {
    return this.rangeOf(ip) !== undefined
  }

  /** The range that contains the address, as the operator wrote it. */
  rangeOf(ip: string): string | undefined {
    try {
      const bytes = parseIp(ip)
      return this.ranges.find(({ subnet }) => subnetContains(subnet, bytes))?.cidr
    } catch {
      return undefined
    }
  }
}
