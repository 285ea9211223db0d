import { type Clock, unixSeconds } from '../../lib/clock.ts'
import { LruMap } from '../../lib/lruMap.ts'
import type { CachedName, MessageHistory } from './adapter.ts'
import { GOSSIP_PARAMS } from './params.ts'

/**
 * Share of a block's lifetime in which it is announced. The rest is reserved for the request, the transfer, forwarding,
 * and clock differences.
 */
const ANNOUNCED_SHARE_OF_LIFE = 0.75
/** Fits op-node's maximum age of 60 s. A larger value would need more memory. */
const MAX_ANNOUNCED_AGE_S = 45
/**
 * Number of blocks kept beyond the last seconds: one a second. A new peer's link can carry them in some seconds, from
 * each of its peers.
 */
const MAX_OLDER = 64
const MAX_OLDER_BYTES = 2 * 1024 * 1024
/** Maximum number of stored block timestamps, more than the number of kept messages. */
const MAX_TIMES = 256
/** An IWANT may arrive a second after the IHAVE. */
const ANSWER_HEARTBEATS = 2

/** Blocks that peers would still accept by gossip. */
export type GossipHistory = ReturnType<typeof createGossipHistory>

/**
 * Keeps valid messages in the library's cache until peers would reject them as too old, instead of six seconds. A peer
 * that was disconnected for less than that receives all missed blocks by gossip and forwards them. op-node's own gap
 * request fails at the first peer that lacks a block, and op-node of 2026 does not request gaps.
 */
export function createGossipHistory(cache: MessageHistory, modules: { clock: Clock }, options: { maxAgeS: number }) {
  const announcedAgeS = Math.min(MAX_ANNOUNCED_AGE_S, Math.floor(options.maxAgeS * ANNOUNCED_SHARE_OF_LIFE))
  const heartbeats = Math.ceil((announcedAgeS * 1000) / GOSSIP_PARAMS.heartbeatInterval) + ANSWER_HEARTBEATS
  while (cache.history.length < heartbeats) cache.history.push([])
  const times = new LruMap<string, number>(MAX_TIMES)

  const evict = (): void => {
    let count = 0
    let bytes = 0
    // Flattening the lists would take as long as validating a small block.
    for (let age = GOSSIP_PARAMS.mcacheLength; age < cache.history.length; age++) {
      for (const { msgIdStr } of cache.history[age] ?? []) {
        count += 1
        bytes += cache.msgs.get(msgIdStr)?.message.data?.length ?? 0
        if (count > MAX_OLDER || bytes > MAX_OLDER_BYTES) cache.msgs.delete(msgIdStr)
      }
    }
  }

  return {
    /** Records a valid message. `blockTimeS`: timestamp of its block, Unix seconds. */
    onValid(id: string, blockTimeS: number): void {
      times.set(id, blockTimeS)
      evict()
    },
    /** Newest first. `maxAgeS` can only shorten the range. */
    list(maxAgeS: number = announcedAgeS): CachedName[] {
      const oldestS = unixSeconds(modules.clock) - Math.min(maxAgeS, announcedAgeS)
      const isAnnounceable = ({ msgIdStr }: CachedName): boolean =>
        cache.msgs.get(msgIdStr)?.validated === true && (times.get(msgIdStr) ?? 0) >= oldestS
      return cache.history.slice(0, -ANSWER_HEARTBEATS).flat().filter(isAnnounceable)
    },
  }
}
