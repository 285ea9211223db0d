import type { Hex } from '../../lib/hex.ts'
import { LruMap } from '../../lib/lruMap.ts'
import { transactionTotals } from '../../rollup/protocol/index.ts'
import type { PayloadEnvelope } from '../../rollup/protocol/types.ts'

/** op-node's sizes (sync.go). */
const MAX_TRUSTED_HASHES = 10_000
const MAX_QUARANTINED = 100
/** Six blocks of the largest answer size, or thousands of common blocks. */
const MAX_QUARANTINED_BYTES = 64 * 1024 * 1024
const MAX_LINKS = 1_000
/** Good blocks, kept for peers that request them before the engine has inserted them. */
const MAX_RECENT = 256
const MAX_RECENT_BYTES = 32 * 1024 * 1024
/** Estimated memory of a block without transactions, and of a transaction without its content. */
const BLOCK_BYTES = 1_000
const TRANSACTION_BYTES = 128

interface Waiting {
  envelope: PayloadEnvelope
  from: string
  bytes: number
}

/**
 * A requested block carries no signature. It is trusted when a trusted block names it as parent. Until then it is in
 * quarantine, which is limited in number and bytes.
 */
export function createTrustedBlocks(listener: {
  onTrusted(envelope: PayloadEnvelope, from: string): void
  /** The peer's answer was not the chain's block, or was the oldest of over a hundred that never became trusted. */
  onRejected(from: string, number: number): void
}) {
  const trusted = new LruMap<Hex, true>(MAX_TRUSTED_HASHES)
  /** Height → hash of the trusted block at that height; oldest update first. */
  const links = new Map<number, Hex>()
  const waiting = new Map<Hex, Waiting>()
  let waitingBytes = 0
  const recent = createRecentBlocks()

  const remove = (hash: Hex, { bytes }: Waiting): void => {
    waiting.delete(hash)
    waitingBytes -= bytes
  }
  const link = (number: number, hash: Hex): void => {
    const before = links.get(number)
    if (before !== undefined && before !== hash) {
      // A reorg: the links below belong to the abandoned branch.
      for (const other of links.keys()) if (other < number) links.delete(other)
    }
    links.delete(number)
    links.set(number, hash)
    for (const oldest of links.keys()) {
      if (links.size <= MAX_LINKS) break
      links.delete(oldest)
    }
  }
  const trustBlock = (envelope: PayloadEnvelope): void => {
    const { blockHash, blockNumber, parentHash } = envelope.payload
    trusted.set(blockHash, true)
    trusted.set(parentHash, true)
    link(blockNumber, blockHash)
    link(blockNumber - 1, parentHash)
    recent.add(envelope)
  }
  /** Releases quarantined blocks downwards, as long as the parent is in quarantine. */
  const release = (from: Hex): void => {
    let hash = from
    for (;;) {
      const entry = waiting.get(hash)
      if (entry === undefined) return
      remove(hash, entry)
      trustBlock(entry.envelope)
      listener.onTrusted(entry.envelope, entry.from)
      const { blockNumber, parentHash } = entry.envelope.payload
      dropRivals(blockNumber - 1, parentHash)
      hash = parentHash
    }
  }
  const dropRivals = (number: number, good: Hex): void => {
    for (const [hash, entry] of waiting) {
      if (entry.envelope.payload.blockNumber !== number || hash === good) continue
      remove(hash, entry)
      listener.onRejected(entry.from, number)
    }
  }
  const evict = (): void => {
    for (const [oldest, entry] of waiting) {
      if (waiting.size <= MAX_QUARANTINED) break
      remove(oldest, entry)
      listener.onRejected(entry.from, entry.envelope.payload.blockNumber)
    }
    // The lowest block would be needed last. Its sender is not penalised for our memory limit.
    while (waitingBytes > MAX_QUARANTINED_BYTES) {
      const lowest = [...waiting].reduce((low, other) => (numberOf(other) < numberOf(low) ? other : low))
      remove(...lowest)
    }
  }
  return {
    /** Trusts a block from gossip or from this node's sequencer, and its parent. */
    trust(envelope: PayloadEnvelope): void {
      trustBlock(envelope)
      const { blockNumber, parentHash } = envelope.payload
      dropRivals(blockNumber - 1, parentHash)
      release(parentHash)
    },
    /** True: the block at this height is trusted, so the block below it can be verified. */
    hasLink: (number: number): boolean => links.get(number) !== undefined,
    has: (number: number): boolean =>
      [...waiting.values()].some(({ envelope }) => envelope.payload.blockNumber === number),
    /** Adds a received block. Releases blocks that are now trusted, from the highest downwards. */
    offer(envelope: PayloadEnvelope, from: string): void {
      const hash = envelope.payload.blockHash
      if (waiting.has(hash)) return
      const expected = links.get(envelope.payload.blockNumber)
      if (expected !== undefined && expected !== hash) {
        listener.onRejected(from, envelope.payload.blockNumber)
        return
      }
      const bytes = heldBytes(envelope)
      waiting.set(hash, { envelope, from, bytes })
      waitingBytes += bytes
      if (trusted.get(hash) === true) release(hash)
      evict()
    },
    recent(number: number): PayloadEnvelope | undefined {
      const envelope = recent.get(number)
      return envelope !== undefined && envelope.payload.blockHash === links.get(number) ? envelope : undefined
    },
    quarantined: (): number => waiting.size,
  }
}

const numberOf = ([, { envelope }]: [Hex, Waiting]): number => envelope.payload.blockNumber

function heldBytes({ payload }: PayloadEnvelope): number {
  const { count, bytes } = transactionTotals(payload)
  return BLOCK_BYTES + count * TRANSACTION_BYTES + bytes
}

/** The last added blocks, one per height, limited in number and memory. */
function createRecentBlocks() {
  const blocks = new Map<number, { envelope: PayloadEnvelope; bytes: number }>()
  let total = 0
  const drop = (number: number): void => {
    total -= blocks.get(number)?.bytes ?? 0
    blocks.delete(number)
  }
  return {
    add(envelope: PayloadEnvelope): void {
      const { blockNumber } = envelope.payload
      drop(blockNumber)
      const bytes = heldBytes(envelope)
      blocks.set(blockNumber, { envelope, bytes })
      total += bytes
      for (const oldest of blocks.keys()) {
        if (blocks.size <= MAX_RECENT && total <= MAX_RECENT_BYTES) break
        drop(oldest)
      }
    },
    get: (number: number) => blocks.get(number)?.envelope,
  }
}
