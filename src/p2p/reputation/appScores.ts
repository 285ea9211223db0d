import { type ReqRespScores, ZERO_SCORES } from '../base/api.ts'
import { RESPONSE_TERMS, type ResponseTerm } from '../base/scoreTerms.ts'
import { decayed, scoreDecay } from '../gossip/topicScores.ts'

/** Caps and weights of request/response sync, from op-node's app_params.go. */
const CAPS: ReqRespScores = { validResponses: 10, errorResponses: 9, rejectedPayloads: 20 }
export const APP_WEIGHTS: Readonly<ReqRespScores> = { validResponses: 0.5, errorResponses: -1, rejectedPayloads: -20 }
const APP_EVENTS = RESPONSE_TERMS.map(({ name }) => name)
/** 10 epochs of 6 slots. */
export const APP_DECAY = scoreDecay(60)

export type AppScores = ReturnType<typeof createAppScores>

export function createAppScores(onRecord: (peerId: string, event: ResponseTerm, detail?: string) => void = () => {}) {
  const peers = new Map<string, ReqRespScores>()
  return {
    /** `detail`: the error, if the event is one. */
    record(peerId: string, event: ResponseTerm, detail?: string): void {
      onRecord(peerId, event, detail)
      const counters = peers.get(peerId) ?? { ...ZERO_SCORES.reqResp }
      counters[event] = Math.min(CAPS[event], counters[event] + 1)
      peers.set(peerId, counters)
    },
    counters: (peerId: string): ReqRespScores => ({ ...(peers.get(peerId) ?? ZERO_SCORES.reqResp) }),
    score(peerId: string): number {
      const counters = peers.get(peerId)
      if (counters === undefined) return 0
      let total = 0
      for (const event of APP_EVENTS) total += counters[event] * APP_WEIGHTS[event]
      return total
    },
    /** Called once a slot for connected peers. */
    decay(connected: Iterable<string>): void {
      for (const peerId of connected) {
        const counters = peers.get(peerId)
        if (counters === undefined) continue
        for (const event of APP_EVENTS) counters[event] = decayed(counters[event], APP_DECAY)
        if (APP_EVENTS.every((event) => counters[event] === 0)) peers.delete(peerId)
      }
    },
    peers: (): string[] => [...peers.keys()],
    restore(peerId: string, counters: ReqRespScores): void {
      if (APP_EVENTS.some((event) => counters[event] > 0)) peers.set(peerId, { ...counters })
    },
    forget(peerId: string): void {
      peers.delete(peerId)
    },
  }
}
