import type { Clock } from '../../lib/clock.ts'
import { LruMap } from '../../lib/lruMap.ts'
import { TokenBucket } from '../../lib/tokenBucket.ts'
import { OFFENCES, type OffenceName } from './offences.ts'

/**
 * What one peer may ask of us. An honest one sends some ten RPCs a second, each block once, and its subscriptions when
 * it connects; the budgets are dozens of times that, so that a node that was stopped for a while and hears all at once
 * takes nothing for a flood.
 */
export const BUDGETS = {
  rpcs: { perSecond: 1_000, burst: 4_000 },
  /** Members of RPCs, ids for the most part: each is decoded and looked up. */
  fields: { perSecond: 20_000, burst: 80_000 },
  /** That turn out to be no blocks: new ones, and copies of good ones, are given back. */
  messages: { perSecond: 50, burst: 250 },
  /** What they say to unpack to. The largest block allowed has 10 MiB. */
  messageBytes: { perSecond: 16 * 1024 * 1024, burst: 64 * 1024 * 1024 },
  subscriptions: { perSecond: 4, burst: 256 },
  /** op-node pings each peer once in three minutes. */
  pings: { perSecond: 10, burst: 100 },
  /** Of its addresses and protocols, when they have changed: up to 80 kB are read, and the peer store is written. */
  pushes: { perSecond: 1, burst: 16 },
} as const

export type Budget = keyof typeof BUDGETS

/** Things dropped for want of budget that make one offence. */
export const DROPS_PER_REPORT = 100
/** Peers whose budgets are remembered, connected or not: coming back brings no new one. */
const PEERS_REMEMBERED = 1_000

interface Account {
  buckets: Partial<Record<Budget, TokenBucket>>
  drops: Partial<Record<OffenceName, number>>
}

/** Keeps account of what each peer costs, and of what it is to be blamed for. */
export type PeerQuotas = ReturnType<typeof createPeerQuotas>

export function createPeerQuotas(modules: {
  clock: Clock
  /** Adds behaviour points, none for an offence that is only written down. */
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
    /** False when the peer has used up its budget: what it wants is then not done. */
    spend: (peerId: string, budget: Budget, amount: number = 1): boolean => bucketOf(peerId, budget).tryTake(amount),
    giveBack: (peerId: string, budget: Budget, amount: number = 1): void => bucketOf(peerId, budget).giveBack(amount),
    /** Counts what was not done for want of budget; every now and then that is an offence. */
    drop(peerId: string, offence: OffenceName, count: number = 1): void {
      const { drops } = accountOf(peerId)
      let dropped = (drops[offence] ?? 0) + count
      for (; dropped >= DROPS_PER_REPORT; dropped -= DROPS_PER_REPORT) report(peerId, offence)
      drops[offence] = dropped
    },
    report,
  }
}
