import type { Clock } from '../../lib/clock.ts'
import type { Hex } from '../../lib/hex.ts'
import type { EngineHeads, HeadsMovedBy } from '../engine/index.ts'
import type { BlockId, PayloadEnvelope } from '../protocol/types.ts'

/** Number of recorded blocks: some minutes of a chain, one screen of the dashboard. */
const KEPT = 64

/** The timestamps of one block at this node, in Unix milliseconds by this node's clock; undefined until the event. */
export interface BlockTimes {
  number: number
  hash: Hex
  /** Unix seconds. */
  timestamp: number
  /** From the payload; undefined if the block came by L1 only. */
  gasUsed: number | undefined
  transactions: number | undefined
  /** This node's sequencer passed the block on to be signed and gossiped. */
  signedAtMs: number | undefined
  /** The first copy from a peer. */
  came: { atMs: number; from: string; way: 'gossip' | 'request' } | undefined
  /** The block became the unsafe head. */
  executedAtMs: number | undefined
  executedBy: HeadsMovedBy | undefined
  safeAtMs: number | undefined
  /** The pipeline's L1 block when the block became safe. */
  safeBy: BlockId | undefined
  finalizedAtMs: number | undefined
}

/** Records when the last blocks were signed, received, executed, and became safe. */
export class BlockTimesRecorder {
  private readonly clock: Pick<Clock, 'now'>
  /** Keyed by hash, because one height may have two blocks. In order of insertion. */
  private readonly blocks = new Map<Hex, BlockTimes>()
  private heads = { unsafe: '', safe: 0, finalized: 0 }

  constructor({ clock }: { clock: Pick<Clock, 'now'> }) {
    this.clock = clock
  }

  /** Ordered by number, highest first. */
  get recent(): BlockTimes[] {
    return [...this.blocks.values()].sort((a, b) => b.number - a.number)
  }

  signed(envelope: PayloadEnvelope): void {
    this.seen(envelope).signedAtMs ??= this.clock.now()
  }

  came(envelope: PayloadEnvelope, from: string, way: 'gossip' | 'request'): void {
    const block = this.seen(envelope)
    block.came ??= { atMs: this.clock.now(), from, way }
  }

  /** Called after every change of a head. */
  moved(
    { unsafe, safe, finalized }: Pick<EngineHeads, 'unsafe' | 'safe' | 'finalized'>,
    by: HeadsMovedBy,
    currentL1?: BlockId,
  ): void {
    const atMs = this.clock.now()
    const before = this.heads
    if (unsafe.hash === before.unsafe && safe.number === before.safe && finalized.number === before.finalized) return
    this.heads = { unsafe: unsafe.hash, safe: safe.number, finalized: finalized.number }
    // Heads that a start or a reset found were executed earlier.
    if (unsafe.hash !== before.unsafe && by !== 'reset') {
      this.forgetInPlaceOf(unsafe)
      const block = this.block(unsafe.number, unsafe.hash, unsafe.timestamp)
      block.executedAtMs ??= atMs
      block.executedBy ??= by
    }
    if (safe.number === before.safe && finalized.number === before.finalized) return
    for (const block of this.blocks.values()) {
      if (block.executedAtMs === undefined) continue
      if (block.number <= safe.number && block.safeAtMs === undefined) {
        block.safeAtMs = atMs
        block.safeBy = currentL1 && { hash: currentL1.hash, number: currentL1.number }
      }
      if (block.number <= finalized.number) block.finalizedAtMs ??= atMs
    }
  }

  /** After a reorg, drops the executed blocks at and above the height of the new head. */
  private forgetInPlaceOf({ number, hash }: { number: number; hash: Hex }): void {
    for (const block of this.blocks.values()) {
      if (block.executedAtMs !== undefined && block.number >= number && block.hash !== hash)
        this.blocks.delete(block.hash)
    }
  }

  private seen({ payload }: PayloadEnvelope): BlockTimes {
    const block = this.block(payload.blockNumber, payload.blockHash, payload.timestamp)
    block.gasUsed = Number(payload.gasUsed)
    block.transactions = payload.transactions.length
    return block
  }

  private block(number: number, hash: Hex, timestamp: number): BlockTimes {
    const known = this.blocks.get(hash)
    if (known !== undefined) return known
    const block: BlockTimes = {
      ...{ number, hash, timestamp, gasUsed: undefined, transactions: undefined },
      ...{ signedAtMs: undefined, came: undefined, executedAtMs: undefined, executedBy: undefined },
      ...{ safeAtMs: undefined, safeBy: undefined, finalizedAtMs: undefined },
    }
    this.blocks.set(hash, block)
    const [oldest] = this.blocks.keys()
    if (this.blocks.size > KEPT && oldest !== undefined) this.blocks.delete(oldest)
    return block
  }
}
