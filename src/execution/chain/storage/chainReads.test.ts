import { describe, expect, it } from 'vitest'
import type { Hex } from '../../../lib/hex.ts'
import { EMPTY_TRIE_ROOT } from '../../../rollup/protocol/constants.ts'
import { ZERO_HASH } from '../../../rollup/protocol/types.ts'
import type { DiskLayer } from '../../state/diskLayer.ts'
import { LayerTree } from '../../state/layerTree.ts'
import { NO_STATE, StateDatabase } from '../../state/stateDatabase.ts'
import { WorldState } from '../../state/worldState.ts'
import { answerChainRead, type ChainReads, readOverChannel } from './chainReads.ts'

const EMPTY_DISK: DiskLayer = {
  version: () => undefined,
  replaced: () => ({ value: null, number: 0 }),
  begin: () => Promise.reject(new Error('nothing is written')),
  undo: () => Promise.reject(new Error('nothing was written')),
}
const addressOf = (index: number): Hex => `0x${(index + 1).toString(16).padStart(40, '0')}`
const hashOf = (number: number): Hex => `0x${number.toString(16).padStart(64, '0')}`

describe('the state of a block, read from another process', () => {
  it('does not change while later blocks are written, and throws state-gone after its layer was merged', () => {
    const tree = new LayerTree(EMPTY_DISK, { number: 0, hash: ZERO_HASH })
    const engine = new StateDatabase({ store: NO_STATE })
    const roots: Hex[] = [EMPTY_TRIE_ROOT]
    // Enough accounts to need different nodes. Each block sends wei to each.
    for (let number = 1; number <= 3; number++) {
      const world = new WorldState(engine.at(tree.at(hashOf(number - 1)) ?? NO_STATE), roots[number - 1] ?? ZERO_HASH)
      for (let index = 0; index < 200; index++) world.addBalance(addressOf(index), 1n)
      const { root, writes } = world.commit()
      roots.push(root)
      tree.add({ number, hash: hashOf(number) }, hashOf(number - 1), writes, 0)
    }
    const chain: Partial<ChainReads> = { stateAt: (hash) => tree.at(hash) }
    const reads = readOverChannel((request) => answerChainRead(chain as ChainReads, request))
    const open = (number: number) => {
      const view = reads.stateAt(hashOf(number)) ?? expect.unreachable()
      return new WorldState(new StateDatabase({ store: NO_STATE }).at(view), roots[number] ?? ZERO_HASH)
    }
    const [earlier, later] = [open(1), open(3)]
    for (let index = 0; index < 5; index++) {
      expect([earlier.balance(addressOf(index)), later.balance(addressOf(index))]).toEqual([1n, 3n])
    }
    tree.mergeOldLayers(hashOf(3), 2, 10)
    const readAll = (world: WorldState) => {
      for (let index = 0; index < 200; index++) world.balance(addressOf(index))
    }
    expect(() => readAll(earlier)).toThrow(expect.objectContaining({ code: 'state-gone' }))
    expect(() => open(1)).toThrow(expect.objectContaining({ code: 'state-gone' }))
    readAll(later)
    for (const number of [2, 3]) expect(open(number).balance(addressOf(0))).toBe(BigInt(number))
  })
})

it('headers of canonical blocks are read together, up to the last block', () => {
  const chain: Partial<ChainReads> = {
    canonicalHash: (number) => (number > 40 ? undefined : hashOf(number)),
    header: (hash) => new Uint8Array(Number(hash)).fill(Number(hash)),
  }
  const reads = readOverChannel((request) => answerChainRead(chain as ChainReads, request))
  const numbersOf = (first: number) =>
    reads.canonicalHeaders?.(first).map(({ hash, header }) => {
      expect(header).toEqual(chain.header?.(hash))
      return Number(hash)
    })
  expect(numbersOf(38)).toEqual([38, 39, 40])
  expect(numbersOf(0)).toEqual(Array.from({ length: 32 }, (_, number) => number))
  expect(numbersOf(41)).toEqual([])
})
