import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import type { Hex } from '../../lib/hex.ts'
import type { HeadChange } from '../chain/types.ts'
import type { BlockHeader } from '../primitives/block.ts'
import { loadRecordedRpc, recordedBlock } from '../testUtils/recordedRpc.ts'
import { createLabelsReader, LabelsFile } from './labelsFile.ts'

const recording = loadRecordedRpc('granite-singular-zlib-calldata')
const [genesis, first, second] = [0, 1, 2].map((number) => recordedBlock(recording, number).header) as [
  BlockHeader,
  BlockHeader,
  BlockHeader,
]
const folder = mkdtempSync(join(tmpdir(), 'devium-labels-'))
afterEach(() => rmSync(folder, { recursive: true, force: true }))

class Labels {
  current: { head: BlockHeader; safe?: BlockHeader; finalized?: BlockHeader } = { head: genesis }
  readonly listeners = new Set<(change: HeadChange) => void>()
  head = () => this.current.head
  safe = () => this.current.safe
  finalized = () => this.current.finalized
  onForkchoice = (listener: (change: HeadChange) => void) => {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }
  move(labels: Labels['current'], removed: BlockHeader[] = []): void {
    this.current = labels
    for (const listener of this.listeners) listener({ head: labels.head, removed, added: [] })
  }
}

describe('LabelsFile', () => {
  it('contains the labels after each forkchoice, and counts reorgs', () => {
    const labels = new Labels()
    const file = new LabelsFile(labels, folder)
    const read = createLabelsReader(file.descriptor)
    const shown = (): { reorgs: number; hashes: (Hex | undefined)[] } => {
      const { head, safe, finalized, reorgs } = read()
      return { reorgs, hashes: [head, safe, finalized] }
    }
    expect(shown()).toEqual({ reorgs: 0, hashes: [genesis.hash, undefined, undefined] })
    const { version } = read()
    labels.move({ head: second, safe: first, finalized: genesis })
    expect(shown()).toEqual({ reorgs: 0, hashes: [second.hash, first.hash, genesis.hash] })
    expect(read().version).not.toBe(version)
    labels.move({ head: first, safe: first }, [second])
    expect(shown()).toEqual({ reorgs: 1, hashes: [first.hash, first.hash, undefined] })
    file.close()
    expect(labels.listeners.size).toBe(0)
    expect(readdirSync(folder)).toEqual([])
  })
})
