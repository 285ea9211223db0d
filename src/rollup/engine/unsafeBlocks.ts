import { transactionTotals } from '../protocol/index.ts'
import type { PayloadEnvelope } from '../protocol/types.ts'
import { EngineError } from './engineErrors.ts'
import type { Engine } from './types.ts'

/** Blocks that are read ahead of consolidation. */
const WINDOW = 16
/** Blocks of this chain that were just inserted, kept until their batch arrives from L1. */
const KEPT_BLOCKS = 1024
const KEPT_BYTES = 64 * 1024 * 1024

/** Blocks of the unsafe chain by number: those that went through this node, and those that the engine has, read ahead. */
export class UnsafeBlocks {
  private readonly engine: Pick<Engine, 'payloadByNumber'>
  private readonly kept = new Map<number, PayloadEnvelope>()
  private readonly pending = new Map<number, Promise<PayloadEnvelope | undefined>>()
  private keptBytes = 0

  constructor(engine: Pick<Engine, 'payloadByNumber'>) {
    this.engine = engine
  }

  /** A block that is the unsafe head now. */
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

  /** The chain is another one from here on. */
  clear(): void {
    this.kept.clear()
    this.keptBytes = 0
    this.pending.clear()
  }

  /** The block `number` of the chain up to `head`; each is asked for once, and not again what is below it. */
  async read(number: number, head: number): Promise<PayloadEnvelope> {
    for (const below of this.pending.keys()) if (below < number) this.pending.delete(below)
    for (const below of this.kept.keys()) if (below < number) this.drop(below)
    const own = this.kept.get(number)
    if (own !== undefined) return own
    for (let next = number; next < number + WINDOW && next <= head; next++) {
      if (this.pending.has(next) || this.kept.has(next)) continue
      // A failure ahead of time is met again, and told, when the block is wanted.
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
