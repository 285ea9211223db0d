import type { Clock } from '../../../lib/clock.ts'
import { fromHex, type Hex } from '../../../lib/hex.ts'
import type { Logger } from '../../../lib/logger.ts'
import { Progress, progressInLog } from '../../../lib/progress.ts'
import { takeTurn } from '../../../lib/turns.ts'
import type { BlockHeader } from '../../primitives/block.ts'
import { type FlatSource, FlatState, type FlatView, type FlatWrites } from '../../state/flatState.ts'
import { toNodeKey } from '../../state/nodeHistory.ts'
import type { LeafKey, StateChanges } from '../../state/stateChanges.ts'
import { MissingNodeError, type StateStore } from '../../state/stateDatabase.ts'
import { stateDifference } from '../../state/stateDifference.ts'
import { EMPTY_TRIE_ROOT } from '../../state/trie.ts'
import type { ChainDatabase } from './chainDatabase.ts'
import { DatabaseBatch } from './databaseBatch.ts'
import { decodeHeader } from './headerCodec.ts'

export interface FlatKeeperModules {
  database: ChainDatabase
  /** Trie nodes, also those that are not on the disk yet. */
  nodes: Pick<StateStore, 'node'>
  logger: Logger
  clock: Clock
  /** Ends what takes long. */
  signal?: AbortSignal | undefined
}

/** Blocks that bring their leaves to a state far from the base hold them in memory. */
const MAX_BRIDGE_LEAVES = 200_000
const LAYER_BYTES = 16 * 1024 * 1024
const BATCH_LEAVES = 2000

/** Keeps the head's state flat beside its trie; see FlatState. */
export class FlatKeeper implements FlatSource {
  private readonly modules: FlatKeeperModules
  private readonly layers: number
  private state: FlatState | undefined

  /** `layers`: blocks above the one whose state is on the disk. */
  constructor(modules: FlatKeeperModules, layers: number) {
    this.modules = modules
    this.layers = layers
    const base = this.header(modules.database.flatBlock())
    this.state = base === undefined ? undefined : new FlatState(modules.database, base)
  }

  /** Memory for what the disk is to hold next, about. */
  get unwrittenBytes(): number {
    return this.state?.unwrittenBytes ?? 0
  }

  at(blockHash: Hex): FlatView | undefined {
    return this.state?.at(blockHash)
  }

  /** A block whose parent's state is there. */
  add(block: Pick<BlockHeader, 'number' | 'hash' | 'parentHash'>, { leaves }: Pick<StateChanges, 'leaves'>): void {
    this.state?.add(block, block.parentHash, leaves)
  }

  /** Before the chain is used: makes what the head is read from, whatever the disk holds. */
  async prepare(head: BlockHeader): Promise<void> {
    await this.follow(head)
    if (this.state === undefined) await this.build(head)
  }

  /** The head has moved, maybe to where no layer leads. Its trie must be there. */
  async follow(head: BlockHeader): Promise<void> {
    if (this.state === undefined) return
    if (this.state.at(head.hash) === undefined && !(await this.bridge(this.state, head))) {
      const { number, hash } = head
      this.modules.logger.warn('The flat state cannot be brought to the head: it is built anew at the start', {
        number,
        hash,
      })
      await this.modules.database.clearFlat()
      this.state = undefined
      return
    }
  }

  /** After `follow`: the states before block `oldest` are given up. */
  settle(head: BlockHeader, oldest: number): void {
    this.state?.settle(head.hash, { layers: this.layers, layerBytes: LAYER_BYTES, oldest })
  }

  writes(): FlatWrites | undefined {
    return this.state?.writes()
  }

  private header(hash: Hex | undefined): BlockHeader | undefined {
    const encoding = hash === undefined ? undefined : this.modules.database.header(hash)
    return encoding === undefined ? undefined : decodeHeader(encoding)
  }

  /** Adds the head's state on that of the base, from the difference of their tries. */
  private async bridge(state: FlatState, head: BlockHeader): Promise<boolean> {
    const { nodes } = this.modules
    const base = this.header(state.baseBlock.hash)
    if (base === undefined) return false
    const leaves = new Map<LeafKey, Uint8Array | null>()
    try {
      for (const { key, value } of stateDifference(nodes, fromHex(base.stateRoot), fromHex(head.stateRoot))) {
        leaves.set(toNodeKey(key), value)
        if (leaves.size > MAX_BRIDGE_LEAVES) return false
        await takeTurn()
      }
    } catch (error) {
      // The state of the base was given up.
      if (!(error instanceof MissingNodeError)) throw error
      return false
    }
    state.add(head, base.hash, leaves)
    return true
  }

  /** From the trie. What is half done when the program ends counts for nothing. */
  private async build(head: BlockHeader): Promise<void> {
    const { database, nodes, logger, clock, signal } = this.modules
    await database.clearFlat()
    const startedAtMs = clock.now()
    const progress = new Progress(
      { clock, sink: progressInLog(logger) },
      { what: 'Building the flat state', unit: 'leaves' },
    )
    let leaves = 0
    let batch = new DatabaseBatch()
    logger.info('Building the flat state from the trie', { number: head.number, hash: head.hash })
    for (const { key, value } of stateDifference(nodes, fromHex(EMPTY_TRIE_ROOT), fromHex(head.stateRoot))) {
      if (value === null) continue
      batch.put('leaf', key, value)
      leaves++
      if (leaves % BATCH_LEAVES !== 0) continue
      signal?.throwIfAborted()
      await database.write(batch, { sync: false })
      batch = new DatabaseBatch()
      progress.advance(leaves, { fraction: placeOf(key) })
    }
    batch.setFlatBlock(head.hash)
    await database.write(batch, { sync: true })
    logger.info('The flat state is built', { leaves, seconds: (clock.now() - startedAtMs) / 1000 })
    this.state = new FlatState(database, head)
  }
}

/** Keys are hashes: how far one is, from 0 to 1, tells how much is done. */
export function placeOf(key: Uint8Array): number {
  return (((key[0] ?? 0) << 16) | ((key[1] ?? 0) << 8) | (key[2] ?? 0)) / 0x1000000
}
