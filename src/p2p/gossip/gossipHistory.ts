import { type Clock, unixSeconds } from '../../lib/clock.ts'
import { LruMap } from '../../lib/lruMap.ts'
import type { CachedName, MessageHistory } from './adapter.ts'
import { GOSSIP_PARAMS } from './params.ts'

/** The rest is for asking, sending and passing on, and for clocks that are ahead of ours. */
const TOLD_SHARE_OF_LIFE = 0.75
/** With op-node's 60 s; more would take memory. */
const MAX_TOLD_AGE_S = 45
/** Kept beyond those of the last seconds: one a second, and what a newcomer's link carries in some, from each of its peers. */
const MAX_OLDER = 64
const MAX_OLDER_BYTES = 2 * 1024 * 1024
/** More than are kept. */
const MAX_TIMES = 256
/** An IWANT comes a second later. */
const ANSWER_HEARTBEATS = 2

/** Blocks that a peer which lacks them would still accept by gossip. */
export type GossipHistory = ReturnType<typeof createGossipHistory>

/**
 * Keeps valid messages in the library's cache until they are too old to be accepted, instead of for six seconds. A peer that
 * was cut off for less than that gets all that it missed by gossip, and passes it on: op-node's own request for a gap
 * gives up at the first peer that lacks a block, and that of 2026 is not made at all.
 */
export function createGossipHistory(cache: MessageHistory, modules: { clock: Clock }, options: { maxAgeS: number }) {
  const toldAgeS = Math.min(MAX_TOLD_AGE_S, Math.floor(options.maxAgeS * TOLD_SHARE_OF_LIFE))
  const heartbeats = Math.ceil((toldAgeS * 1000) / GOSSIP_PARAMS.heartbeatInterval) + ANSWER_HEARTBEATS
  while (cache.history.length < heartbeats) cache.history.push([])
  const times = new LruMap<string, number>(MAX_TIMES)

  const makeRoom = (): void => {
    let count = 0
    let bytes = 0
    // Flattening them would take as long as judging a small block.
    for (let age = GOSSIP_PARAMS.mcacheLength; age < cache.history.length; age++) {
      for (const { msgIdStr } of cache.history[age] ?? []) {
        count += 1
        bytes += cache.msgs.get(msgIdStr)?.message.data?.length ?? 0
        if (count > MAX_OLDER || bytes > MAX_OLDER_BYTES) cache.msgs.delete(msgIdStr)
      }
    }
  }

  return {
    /** A valid message, and its block's time in Unix seconds. */
    onValid(id: string, blockTimeS: number): void {
      times.set(id, blockTimeS)
      makeRoom()
    },
    /** Newest first; `maxAgeS` only where that is less than what peers accept. */
    list(maxAgeS: number = toldAgeS): CachedName[] {
      const oldestS = unixSeconds(modules.clock) - Math.min(maxAgeS, toldAgeS)
      const isTellable = ({ msgIdStr }: CachedName): boolean =>
        cache.msgs.get(msgIdStr)?.validated === true && (times.get(msgIdStr) ?? 0) >= oldestS
      return cache.history.slice(0, -ANSWER_HEARTBEATS).flat().filter(isTellable)
    },
  }
}
