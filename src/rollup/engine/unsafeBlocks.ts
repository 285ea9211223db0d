import { transactionTotals } from '../protocol/index.ts'
import type { PayloadEnvelope } from '../protocol/types.ts'
import { EngineError } from './engineErrors.ts'
import type { Engine } from './types.ts'

/** Number of blocks that are prefetched for consolidation. */
const WINDOW = 16
/** Limits for recently inserted blocks, which are kept until their batch arrives from L1. */
const KEPT_BLOCKS = 1024
const KEPT_BYTES = 64 * 1024 * 1024

/** Blocks of the unsafe chain by number: blocks that this node inserted, and blocks prefetched from the engine. */
export class UnsafeBlocks {
  private readonly engine: Pick<Engine, 'payloadByNumber'>
  private readonly kept = new Map<number, PayloadEnvelope>()
  private readonly pending = new Map<number, Promise<PayloadEnvelope | undefined>>()
  private keptBytes = 0

  constructor(engine: Pick<Engine, 'payloadByNumber'>) {
    this.engine = engine
  }

  /** Adds a block that is now the unsafe head. */
  add(envelope: PayloadEnvelope): void {
    const { blockNumber } = envelope.payload
    this.drop(blockNumber)
    this.kept.set(blockNumber, envelope)
    this.keptBytes += sizeOf(envelope)
    for (const number of this.kept.keys()) {
      if (this.kept.size <= KEPT_BLOCKS && this.keptBytes <= KEPT_BYTES) break
      this.drop(number)
    }
  }

  /** Drops all blocks, because the chain has changed. */
  clear(): void {
    this.kept.clear()
    this.keptBytes = 0
    this.pending.clear()
  }

  /**
   * The block `number` of the chain up to `head`. Numbers must not decrease: each block is returned once, and lower
   * blocks are dropped.
   */
  async read(number: number, head: number): Promise<PayloadEnvelope> {
    for (const below of this.pending.keys()) if (below < number) this.pending.delete(below)
    for (const below of this.kept.keys()) if (below < number) this.drop(below)
    const own = this.kept.get(number)
    if (own !== undefined) return own
    for (let next = number; next < number + WINDOW && next <= head; next++) {
      if (this.pending.has(next) || this.kept.has(next)) continue
      // A prefetch error occurs again when the block is awaited, and is handled there.
      const block = this.engine.payloadByNumber(next)
      block.catch(() => undefined)
      this.pending.set(next, block)
    }
    const read = this.pending.get(number)
    this.pending.delete(number)
    const block = await read
    if (block !== undefined) return block
    throw new EngineError('engine-state', `engine does not have block ${number} of its unsafe chain`, {
      severity: 'reset',
    })
  }

  private drop(number: number): void {
    const envelope = this.kept.get(number)
    if (envelope === undefined) return
    this.kept.delete(number)
    this.keptBytes -= sizeOf(envelope)
  }
}

function sizeOf({ payload }: PayloadEnvelope): number {
  return 1000 + transactionTotals(payload).bytes
}
