import type { Hex } from '../../lib/hex.ts'
import { LruMap } from '../../lib/lruMap.ts'
import type { PayloadEnvelope } from '../../rollup/protocol/types.ts'

/** op-node's sizes (sync.go). */
const MAX_TRUSTED_HASHES = 10_000
const MAX_QUARANTINED = 100
const MAX_LINKS = 1_000

interface Waiting {
  envelope: PayloadEnvelope
  from: string
}

/**
 * Blocks that come on request carry no signature: they are good when a block that is known to be good names them as
 * parent. Until then they wait in quarantine.
 */
export interface TrustedBlocks {
  /** A block that gossip vouched for: its hash and its parent's are trusted from now on. */
  trust(envelope: PayloadEnvelope): void
  /** True when the block at this height is known to be good, so that the one below can be checked. */
  hasLink(number: number): boolean
  has(number: number): boolean
  /** Takes an answer in; releases, in order downwards, what is now known to be good. */
  offer(envelope: PayloadEnvelope, from: string): void
  quarantined(): number
}

export function createTrustedBlocks(listener: {
  /** A block has become trusted. */
  onTrusted(envelope: PayloadEnvelope, from: string): void
  /** An answer of this peer turned out to be another block than the chain's, or never became trusted. */
  onRejected(from: string, number: number): void
}): TrustedBlocks {
  const trusted = new LruMap<Hex, true>(MAX_TRUSTED_HASHES)
  /** Height → hash of the trusted block there. */
  const links = new LruMap<number, Hex>(MAX_LINKS)
  const waiting = new Map<Hex, Waiting>()

  const vouch = (envelope: PayloadEnvelope): void => {
    const { blockHash, blockNumber, parentHash } = envelope.payload
    trusted.set(blockHash, true)
    trusted.set(parentHash, true)
    links.set(blockNumber, blockHash)
    links.set(blockNumber - 1, parentHash)
  }
  /** Walks down through quarantine as long as the parent waits there. */
  const release = (from: Hex): void => {
    let hash = from
    for (;;) {
      const entry = waiting.get(hash)
      if (entry === undefined) return
      waiting.delete(hash)
      vouch(entry.envelope)
      listener.onTrusted(entry.envelope, entry.from)
      const { blockNumber, parentHash } = entry.envelope.payload
      dropRivals(blockNumber - 1, parentHash)
      hash = parentHash
    }
  }
  const dropRivals = (number: number, good: Hex): void => {
    for (const [hash, { envelope, from }] of waiting) {
      if (envelope.payload.blockNumber !== number || hash === good) continue
      waiting.delete(hash)
      listener.onRejected(from, number)
    }
  }
  return {
    trust(envelope) {
      vouch(envelope)
      const { blockNumber, parentHash } = envelope.payload
      dropRivals(blockNumber - 1, parentHash)
      release(parentHash)
    },
    hasLink: (number) => links.get(number) !== undefined,
    has: (number) => [...waiting.values()].some(({ envelope }) => envelope.payload.blockNumber === number),
    offer(envelope, from) {
      const hash = envelope.payload.blockHash
      if (waiting.has(hash)) return
      const expected = links.get(envelope.payload.blockNumber)
      if (expected !== undefined && expected !== hash) {
        listener.onRejected(from, envelope.payload.blockNumber)
        return
      }
      waiting.set(hash, { envelope, from })
      if (trusted.get(hash) === true) release(hash)
      for (const [oldest, entry] of waiting) {
        if (waiting.size <= MAX_QUARANTINED) break
        waiting.delete(oldest)
        listener.onRejected(entry.from, entry.envelope.payload.blockNumber)
      }
    },
    quarantined: () => waiting.size,
  }
}
