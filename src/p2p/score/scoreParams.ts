import { parseCidr, parseIp, subnetContains } from '../../lib/ipNet.ts'
import type { P2pOptions } from '../options.ts'

/** What a counter is multiplied with each slot so that it falls to 1 % in `slots` slots. */
export function scoreDecay(slots: number): number {
  return 0.01 ** (1 / slots)
}

const SLOTS_PER_EPOCH = 6
/** Block time that op-node takes when the chain has none. */
const DEFAULT_SLOT_S = 2

/** Gossipsub's parameters of one topic. Times in milliseconds. */
export interface TopicParams {
  topicWeight: number
  timeInMeshWeight: number
  timeInMeshQuantum: number
  /** In quanta. */
  timeInMeshCap: number
  firstMessageDeliveriesWeight: number
  firstMessageDeliveriesDecay: number
  firstMessageDeliveriesCap: number
  meshMessageDeliveriesWeight: number
  meshMessageDeliveriesDecay: number
  meshMessageDeliveriesCap: number
  meshMessageDeliveriesThreshold: number
  meshMessageDeliveriesWindow: number
  meshMessageDeliveriesActivation: number
  meshFailurePenaltyWeight: number
  meshFailurePenaltyDecay: number
  invalidMessageDeliveriesWeight: number
  invalidMessageDeliveriesDecay: number
}

export interface GossipScoring {
  params: {
    topicScoreCap: number
    appSpecificScore: (peerId: string) => number
    appSpecificWeight: number
    IPColocationFactorWeight: number
    IPColocationFactorThreshold: number
    IPColocationFactorWhitelist: Set<string>
    behaviourPenaltyWeight: number
    behaviourPenaltyThreshold: number
    behaviourPenaltyDecay: number
    decayInterval: number
    decayToZero: number
    retainScore: number
    topics: Record<string, TopicParams>
  }
  thresholds: {
    gossipThreshold: number
    publishThreshold: number
    graylistThreshold: number
    acceptPXThreshold: number
    opportunisticGraftThreshold: number
  }
}

/**
 * op-node's global parameters (peer_params.go). No topic is scored, as op-node has it since 2025: a topic that stays
 * silent, or a sequencer that stops, costs no honest peer anything.
 */
export function gossipScoring(
  options: Pick<P2pOptions, 'scoring' | 'ipColocationExempt'>,
  chain: { blockTimeS: number; appScore: (peerId: string) => number },
): GossipScoring {
  const light = options.scoring === 'light'
  const slotMs = slotMilliseconds(chain.blockTimeS)
  const epochMs = SLOTS_PER_EPOCH * slotMs
  return {
    params: {
      topics: {},
      topicScoreCap: 0,
      appSpecificScore: light ? chain.appScore : () => 0,
      appSpecificWeight: 1,
      IPColocationFactorWeight: light ? -35 : 0,
      IPColocationFactorThreshold: 10,
      IPColocationFactorWhitelist: new IpRangeSet(options.ipColocationExempt),
      behaviourPenaltyWeight: light ? -16 : 0,
      behaviourPenaltyThreshold: 6,
      behaviourPenaltyDecay: scoreDecay(10 * SLOTS_PER_EPOCH),
      decayInterval: slotMs,
      decayToZero: 0.01,
      retainScore: 100 * epochMs,
    },
    thresholds: {
      gossipThreshold: -10,
      publishThreshold: -40,
      graylistThreshold: -40,
      acceptPXThreshold: 20,
      opportunisticGraftThreshold: 0.05,
    },
  }
}

/** Scores decay once a block time; the library asks for at least a second. */
export function slotMilliseconds(blockTimeS: number): number {
  return Math.max(1, blockTimeS === 0 ? DEFAULT_SLOT_S : blockTimeS) * 1000
}

/** The library knows a set of exact addresses only; this one answers for whole ranges. */
export class IpRangeSet extends Set<string> {
  private readonly ranges

  constructor(cidrs: readonly string[]) {
    super()
    this.ranges = cidrs.map(parseCidr)
  }

  override has(ip: string): boolean {
    try {
      const bytes = parseIp(ip)
      return this.ranges.some((range) => subnetContains(range, bytes))
    } catch {
      return false
    }
  }
}
