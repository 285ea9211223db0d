import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { viewOf } from '../../lib/bytes.ts'
import type { Hex } from '../../lib/hex.ts'
import { propertyRuns } from '../../lib/testUtils/propertyRuns.ts'
import { ChainDatabase } from '../chain/storage/chainDatabase.ts'
import { TABLE, tableRange } from '../chain/storage/databaseBatch.ts'
import { StateDisk } from '../chain/storage/stateDisk.ts'
import type { BlockId, DiskWriting } from './diskLayer.ts'
import { LayerTree } from './layerTree.ts'
import type { StateKey } from './stateKeys.ts'

const KEYS: StateKey[] = ['A', 'A\x01', 'A\x01\x02', `O${'a'.repeat(32)}`, `a${'k'.repeat(32)}`, `o${'k'.repeat(64)}`]
const hashOf = (index: number): Hex => `0x${index.toString(16).padStart(64, '0')}`

interface ModelBlock extends BlockId {
  parentHash: Hex
  writes: Map<StateKey, Uint8Array | null>
  /** All values, from the first block on. */
  state: Map<StateKey, number>
}

type Step =
  | { kind: 'add'; parent: number; changes: (number | null)[] }
  | { kind: 'head'; block: number; kept: number }
  | { kind: 'write'; rest: number }
  | { kind: 'branches' }
  | { kind: 'restart' }

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('add' as const),
      // Usually the latest block.
      parent: fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(12) }),
      changes: fc.array(fc.option(fc.nat(255), { freq: 3 }), { minLength: KEYS.length, maxLength: KEYS.length }),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('head' as const),
      block: fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(12) }),
      kept: fc.nat(8),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('write' as const), rest: fc.nat(4) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('branches' as const, 'restart' as const) }) },
)

/** A disk that has the new values before the tree knows: readers find them there already. */
class WatchedDisk extends StateDisk {
  onWritten = () => {}

  override async begin(oldest: number): Promise<DiskWriting> {
    const writing = await super.begin(oldest)
    const commit = async (base: BlockId) => {
      await writing.commit(base)
      this.onWritten()
    }
    return { ...writing, commit }
  }

  override async undo(block: BlockId): Promise<Hex> {
    const parentHash = await super.undo(block)
    this.onWritten()
    return parentHash
  }
}

/** A tree on a database, with a simple model that keeps every state in full. */
class Trial {
  private readonly database: ChainDatabase
  private readonly blocks: ModelBlock[] = [
    { number: 0, hash: hashOf(0), parentHash: hashOf(0), writes: new Map(), state: new Map() },
  ]
  private tree: LayerTree
  private head = this.blocks[0] ?? expect.unreachable()
  /** States before it may be pruned. */
  private oldest = 0
  /** The base with the unwritten changes. */
  private written: BlockId = this.head

  constructor(database: ChainDatabase) {
    this.database = database
    this.tree = new LayerTree(this.watched(), this.head)
  }

  private watched(): WatchedDisk {
    const disk = new WatchedDisk(this.database)
    disk.onWritten = () => this.check()
    return disk
  }

  async run(step: Step): Promise<void> {
    switch (step.kind) {
      case 'add':
        return this.add(step.parent, step.changes)
      case 'head':
        return this.setHead(step.block, step.kept)
      case 'write': {
        const before = this.blocks.filter(({ hash, number }) => number >= this.oldest && this.tree.has(hash))
        await this.tree.write(this.head.hash, { gas: step.rest, bytes: Number.POSITIVE_INFINITY })
        this.written = this.tree.baseBlock
        expect(before.filter(({ hash }) => !this.tree.has(hash))).toEqual([])
        return
      }
      case 'branches':
        if (this.tree.descendsFromBase(this.head.hash) === true) this.tree.dropBranches(this.head.hash)
        return
      case 'restart': {
        const disk = this.watched()
        this.tree = new LayerTree(disk, this.written, await disk.open())
        // The states in memory are restored if the head descends from the base.
        this.makeAgain(this.head)
      }
    }
  }

  check(): void {
    for (const { hash, number, state } of this.blocks) {
      const view = this.tree.at(hash)
      if (this.isAncestor(hash, number) && number >= this.oldest) expect(view, `state ${number}`).toBeDefined()
      if (view === undefined) continue
      for (const key of KEYS) {
        const found = key.startsWith('A') || key.startsWith('O') ? view.node(key, new Uint8Array(32)) : view.leaf(key)
        expect([number, key, found?.[0]]).toEqual([number, key, state.get(key)])
      }
    }
  }

  /** The base as written. Deletion marks exist only while the deleted value is kept. */
  async checkDisk(): Promise<void> {
    const { state } = this.blocks.find(({ hash }) => hash === this.written.hash) ?? expect.unreachable()
    const disk = new StateDisk(this.database)
    const kept = new Set<number>()
    for await (const [key] of this.database.entries(tableRange(TABLE.replacedBlock))) kept.add(viewOf(key).getUint32(1))
    for (const key of KEYS) {
      const version = disk.version(key)
      expect([key, version?.value?.[0]]).toEqual([key, state.get(key)])
      if (version?.value === null) expect(kept).toContain(version.number)
    }
  }

  private nth(fromLatest: number): ModelBlock {
    const known = this.blocks.filter(({ hash }) => this.tree.has(hash))
    return known[Math.max(known.length - 1 - fromLatest, 0)] ?? expect.unreachable()
  }

  private add(fromLatest: number, changes: readonly (number | null)[]): void {
    const parent = this.nth(fromLatest)
    const writes = new Map<StateKey, Uint8Array | null>()
    const state = new Map(parent.state)
    for (const [index, change] of changes.entries()) {
      const key = KEYS[index] ?? ''
      // A third each is unchanged, deleted, and set.
      if (change === null || change % 3 === 0) continue
      const value = change % 3 === 1 ? null : Uint8Array.of(change)
      writes.set(key, value)
      if (value === null) state.delete(key)
      else state.set(key, change)
    }
    const block = {
      number: parent.number + 1,
      hash: hashOf(this.blocks.length),
      parentHash: parent.hash,
      writes,
      state,
    }
    this.blocks.push(block)
    this.tree.add(block, parent.hash, writes, 1)
  }

  private async setHead(fromLatest: number, kept: number): Promise<void> {
    this.head = this.nth(fromLatest)
    while (this.tree.descendsFromBase(this.head.hash) === false) {
      await this.tree.stepBack()
      this.written = this.tree.baseBlock
    }
    this.oldest = Math.max(this.head.number - kept, this.oldest)
    this.tree.mergeOldLayers(this.head.hash, this.oldest, 100)
  }

  private makeAgain(block: ModelBlock): void {
    if (this.tree.has(block.hash)) return
    const parent = this.blocks.find(({ hash }) => hash === block.parentHash) ?? expect.unreachable()
    this.makeAgain(parent)
    this.tree.add(block, parent.hash, block.writes, 1)
  }

  private isAncestor(hash: Hex, number: number): boolean {
    let block = this.head
    while (block.number > number) {
      block = this.blocks.find(({ hash }) => hash === block.parentHash) ?? expect.unreachable()
    }
    return block.hash === hash
  }
}

describe('LayerTree', () => {
  it('agrees with a simple model over random heads, writes and restarts', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40, size: 'max' }), async (steps) => {
        const datadir = mkdtempSync(join(tmpdir(), 'devium-layers-'))
        const database = await ChainDatabase.open(datadir, { create: true })
        try {
          const trial = new Trial(database)
          for (const step of steps) {
            await trial.run(step)
            trial.check()
            await trial.checkDisk()
          }
        } finally {
          await database.close()
          rmSync(datadir, { recursive: true })
        }
      }),
      { numRuns: propertyRuns(300) },
    )
  }, 120_000)
})
