import type { Clock } from '../../lib/clock.ts'
import { LruMap } from '../../lib/lruMap.ts'
import { TokenBucket } from '../../lib/tokenBucket.ts'
import { OFFENCES, type OffenceName } from './offences.ts'

/**
 * Budgets of one peer. An honest peer sends about ten RPCs a second, each block once, and its subscriptions when it
 * connects. The budgets are dozens of times larger, so that the backlog after a pause of this node does not count as a
 * flood.
 */
export const BUDGETS = {
  rpcs: { perSecond: 1_000, burst: 4_000 },
  /** Fields of RPCs, mostly ids: each is decoded and looked up. */
  fields: { perSecond: 20_000, burst: 80_000 },
  /** Messages that are not blocks. New blocks and copies of good blocks are credited back. */
  messages: { perSecond: 50, burst: 250 },
  /** The declared uncompressed size of messages. The largest allowed block has 10 MiB. */
  messageBytes: { perSecond: 16 * 1024 * 1024, burst: 64 * 1024 * 1024 },
  subscriptions: { perSecond: 4, burst: 256 },
  /** op-node pings each peer once in three minutes. */
  pings: { perSecond: 10, burst: 100 },
  /** Identify pushes of changed addresses and protocols: each reads up to 80 kB and writes the peer store. */
  pushes: { perSecond: 1, burst: 16 },
} as const

export type Budget = keyof typeof BUDGETS

/** This many drops for an exhausted budget make one offence. */
export const DROPS_PER_REPORT = 100
/** Budgets kept for peers, connected or not. A reconnect does not bring a new budget. */
const PEERS_REMEMBERED = 1_000

interface Account {
  buckets: Partial<Record<Budget, TokenBucket>>
  drops: Partial<Record<OffenceName, number>>
}

/** Tracks each peer's use of its budgets and its offences. */
export type PeerQuotas = ReturnType<typeof createPeerQuotas>

export function createPeerQuotas(modules: {
  clock: Clock
  /** Adds behaviour points. An offence with 0 points is only recorded. */
  penalise(peerId: string, points: number, offence: OffenceName, detail?: string): void
}) {
  const { clock } = modules
  const accounts = new LruMap<string, Account>(PEERS_REMEMBERED)

  const accountOf = (peerId: string): Account => {
    const known = accounts.get(peerId)
    if (known !== undefined) return known
    const account: Account = { buckets: {}, drops: {} }
    accounts.set(peerId, account)
    return account
  }
  const bucketOf = (peerId: string, budget: Budget): TokenBucket => {
    const { buckets } = accountOf(peerId)
    buckets[budget] ??= new TokenBucket(clock, BUDGETS[budget])
    return buckets[budget]
  }
  const report = (peerId: string, offence: OffenceName, detail?: string): void => {
    modules.penalise(peerId, OFFENCES[offence].points, offence, detail)
  }
  return {
    /** False: the budget is exhausted, so the caller must drop the work. */
    spend: (peerId: string, budget: Budget, amount: number = 1): boolean => bucketOf(peerId, budget).tryTake(amount),
    giveBack: (peerId: string, budget: Budget, amount: number = 1): void => bucketOf(peerId, budget).giveBack(amount),
    /** Counts drops for an exhausted budget. Every `DROPS_PER_REPORT` drops are one offence. */
    drop(peerId: string, offence: OffenceName, count: number = 1): void {
      const { drops } = accountOf(peerId)
      let dropped = (drops[offence] ?? 0) + count
      for (; dropped >= DROPS_PER_REPORT; dropped -= DROPS_PER_REPORT) report(peerId, offence)
      drops[offence] = dropped
    },
    report,
  }
}
