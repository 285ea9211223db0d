import type { Clock } from '../../../lib/clock.ts'
import type { Hex } from '../../../lib/hex.ts'
import { ZERO_HASH } from '../../../rollup/protocol/types.ts'
import { ChainError } from '../../errors.ts'
import type { BlockHeader } from '../../primitives/block.ts'
import type { ForkchoiceState } from '../forkchoice.ts'
import type { HeadChange } from '../types.ts'
import type { BlockStore } from './blockStore.ts'
import type { ChainDatabase } from './chainDatabase.ts'
import { DatabaseBatch, type Label } from './databaseBatch.ts'

/**
 * Longest time between two synced writes of labels. In between, labels survive a crash of the process but no power cut.
 */
const SYNC_INTERVAL_MS = 1000

export interface CanonicalChainModules {
  database: ChainDatabase
  blocks: BlockStore
  clock: Clock
}

/** A planned move of head, safe and finalized. */
export interface HeadMove {
  readonly change: HeadChange
  readonly batch: DatabaseBatch
  readonly safe: BlockHeader | undefined
  readonly finalized: BlockHeader | undefined
}

/** The canonical chain: head, safe and finalized, and the indices by number and by transaction. */
export class CanonicalChain {
  private readonly database: ChainDatabase
  private readonly blocks: BlockStore
  private readonly clock: Clock
  private readonly headListeners = new Set<(change: HeadChange) => void>()
  private readonly forkchoiceListeners = new Set<(change: HeadChange) => void>()
  private headHeader: BlockHeader
  private safeHeader: BlockHeader | undefined
  private finalizedHeader: BlockHeader | undefined
  private syncedAtMs = 0

  /** The database must hold a chain, and `head` must be its head label. */
  constructor(modules: CanonicalChainModules, head: BlockHeader) {
    this.database = modules.database
    this.blocks = modules.blocks
    this.clock = modules.clock
    this.headHeader = head
    this.safeHeader = headerOfLabel(this.database, this.blocks, 'safe')
    this.finalizedHeader = headerOfLabel(this.database, this.blocks, 'finalized')
  }

  head(): BlockHeader {
    return this.headHeader
  }

  safe(): BlockHeader | undefined {
    return this.safeHeader
  }

  finalized(): BlockHeader | undefined {
    return this.finalizedHeader
  }

  /** Called after each head move, in order. The returned function unsubscribes. */
  onHead(listener: (change: HeadChange) => void): () => void {
    this.headListeners.add(listener)
    return () => this.headListeners.delete(listener)
  }

  /** Called after each move of a label, in order. */
  onForkchoice(listener: (change: HeadChange) => void): () => void {
    this.forkchoiceListeners.add(listener)
    return () => this.forkchoiceListeners.delete(listener)
  }

  /** Makes all writes durable, and marks the database as closed. */
  async writeClosed(): Promise<void> {
    const batch = new DatabaseBatch()
    batch.setClosed()
    await this.database.write(batch, { sync: true })
  }

  /** Moves the head and the labels above it back to a canonical block. Call it before anyone subscribes. */
  async goBackTo(head: BlockHeader): Promise<void> {
    const batch = new DatabaseBatch()
    this.moveCanonical(batch, this.pathTo(head))
    batch.setLabel('head', head.hash)
    for (const label of ['safe', 'finalized'] as const) {
      const header = label === 'safe' ? this.safeHeader : this.finalizedHeader
      if (header !== undefined && header.number > head.number) batch.setLabel(label, head.hash)
    }
    await this.database.write(batch, { sync: true })
    this.headHeader = head
    this.safeHeader = headerOfLabel(this.database, this.blocks, 'safe')
    this.finalizedHeader = headerOfLabel(this.database, this.blocks, 'finalized')
  }

  /**
   * Plans the move to a stored head. Write and adopt the plan before any other move. Throws ChainError, see
   * Chain.setForkchoice.
   */
  plan(head: BlockHeader, state: Pick<ForkchoiceState, 'safeBlockHash' | 'finalizedBlockHash'>): HeadMove {
    const change = this.pathTo(head)
    const batch = new DatabaseBatch()
    if (change.removed.length > 0 || change.added.length > 0) this.moveCanonical(batch, change)
    // Safe and finalized must be on the new canonical chain, which is not written yet.
    const finalized = this.labelled(state.finalizedBlockHash, head, change, 'final')
    const safe = this.labelled(state.safeBlockHash, head, change, 'safe')
    if (head.hash !== this.headHeader.hash) batch.setLabel('head', head.hash)
    if (finalized !== undefined && finalized.hash !== this.finalizedHeader?.hash)
      batch.setLabel('finalized', finalized.hash)
    if (safe !== undefined && safe.hash !== this.safeHeader?.hash) batch.setLabel('safe', safe.hash)
    return { change, batch, finalized: finalized ?? this.finalizedHeader, safe: safe ?? this.safeHeader }
  }

  async write({ batch }: HeadMove): Promise<void> {
    if (batch.operations.length === 0) return
    const nowMs = this.clock.now()
    const sync = nowMs - this.syncedAtMs >= SYNC_INTERVAL_MS
    if (sync) this.syncedAtMs = nowMs
    await this.database.write(batch, { sync })
  }

  /** Call it after the write. */
  adopt({ change, finalized, safe }: HeadMove): void {
    const { head } = change
    const moved = head.hash !== this.headHeader.hash
    this.headHeader = head
    this.finalizedHeader = finalized
    this.safeHeader = safe
    for (const listener of this.forkchoiceListeners) listener(change)
    if (moved) for (const listener of this.headListeners) listener(change)
  }

  /** The blocks that leave and join the canonical chain when `head` becomes its head. */
  private pathTo(head: BlockHeader): HeadChange {
    const added: BlockHeader[] = []
    let ancestor = head
    while (!this.isOnChain(ancestor)) {
      added.unshift(ancestor)
      const parent = this.blocks.header(ancestor.parentHash)
      if (parent === undefined)
        throw new ChainError('unknown-block', `ancestor ${ancestor.parentHash} is not in the database`)
      ancestor = parent
    }
    const removed: BlockHeader[] = []
    for (let number = this.headHeader.number; number > ancestor.number; number--) {
      const header = this.blocks.canonicalHeader(number)
      if (header !== undefined) removed.push(header)
    }
    return { head, removed, added }
  }

  /** Usually the new head is a child of the head, which needs no database read. */
  private isOnChain(header: BlockHeader): boolean {
    const { number, hash } = this.headHeader
    if (header.number >= number) return header.hash === hash
    return this.blocks.isCanonical(header)
  }

  private moveCanonical(batch: DatabaseBatch, { removed, added }: HeadChange): void {
    for (const header of removed) {
      batch.removeCanonical(header.number)
      for (const { hash } of this.blocks.block(header.hash)?.transactions ?? []) batch.removeTransaction(hash)
    }
    for (const header of added) {
      batch.setCanonical(header.number, header.hash)
      const transactions = this.blocks.block(header.hash)?.transactions ?? []
      for (const [index, { hash }] of transactions.entries())
        batch.setTransaction(hash, { blockHash: header.hash, index })
    }
  }

  /** The header of a label, which must be on the new canonical chain. Undefined: unset. */
  private labelled(hash: Hex, head: BlockHeader, change: HeadChange, name: 'final' | 'safe'): BlockHeader | undefined {
    if (hash === ZERO_HASH) return undefined
    const header = this.blocks.header(hash)
    if (header === undefined) throw new ChainError('invalid-forkchoice', `${name} block not available in database`)
    const isAdded = change.added.some((added) => added.hash === hash)
    const wasRemoved = change.removed.some((removed) => removed.hash === hash)
    const isKept = this.blocks.isCanonical(header) && !wasRemoved && header.number <= head.number
    if (!isAdded && !isKept) throw new ChainError('invalid-forkchoice', `${name} block not in canonical chain`)
    return header
  }
}

export function headerOfLabel(database: ChainDatabase, blocks: BlockStore, label: Label): BlockHeader | undefined {
  const hash = database.label(label)
  return hash === undefined ? undefined : blocks.header(hash)
}
