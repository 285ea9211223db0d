import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { plainOrderedTrieRoot } from '../../rollup/protocol/payload/orderedTrie.ts'
import { concatBytes } from '../bytes.ts'
import { keccak256Hex } from '../hash.ts'
import { toHex } from '../hex.ts'
import { propertyRuns } from '../testUtils/propertyRuns.ts'
import { hashBody, itemsTrieRoot } from './listTrie.ts'

/** The list as SSZ has it. */
function encodeList(items: readonly Uint8Array[]): Uint8Array {
  const offsets = new Uint8Array(items.length * 4)
  let offset = offsets.length
  items.forEach((item, index) => {
    new DataView(offsets.buffer).setUint32(index * 4, offset, true)
    offset += item.length
  })
  return concatBytes(offsets, ...items)
}

function hashes(body: Uint8Array, place?: { start: number; end: number }) {
  const result = hashBody(body, place)
  if (result === undefined) throw new Error('this processor has no 128-bit vectors')
  return result
}

const noise = (length: number, seed: number): Uint8Array =>
  new Uint8Array(length).map((_, index) => ((index + seed) * 2_654_435_761) >>> 13)

const item = fc.oneof(
  fc.uint8Array({ maxLength: 4 }),
  fc.uint8Array({ minLength: 20, maxLength: 300 }),
  fc.record({ length: fc.nat(1500), seed: fc.nat() }).map(({ length, seed }) => noise(length, seed)),
)

describe('itemsTrieRoot', () => {
  it('agrees with the plain way at every count around the edges of key lengths', () => {
    for (const count of [1, 2, 3, 15, 16, 17, 126, 127, 128, 129, 130, 143, 144, 255, 256, 257, 272, 4095, 4097]) {
      const items = Array.from({ length: count }, (_, index) => noise(1 + (index % 200), index))
      expect(toHex(itemsTrieRoot(items) ?? new Uint8Array(0))).toBe(plainOrderedTrieRoot(items))
    }
  })

  it('agrees with the plain way on arbitrary items, those that fit into their parent and empty ones among them', () => {
    fc.assert(
      fc.property(fc.array(item, { minLength: 1, maxLength: 300 }), (items) => {
        expect(toHex(itemsTrieRoot(items) ?? new Uint8Array(0))).toBe(plainOrderedTrieRoot(items))
      }),
      { numRuns: propertyRuns(60) },
    )
  })

  it('agrees with the plain way beyond 65,536 items, whose keys are a byte longer', () => {
    const items = Array.from({ length: 66_000 }, (_, index) => noise(index % 3, index))
    expect(toHex(itemsTrieRoot(items) ?? new Uint8Array(0))).toBe(plainOrderedTrieRoot(items))
  })

  it('takes a large item beside small ones', () => {
    const items = [noise(1_000_000, 1), Uint8Array.of(1), noise(70_000, 2)]
    expect(toHex(itemsTrieRoot(items) ?? new Uint8Array(0))).toBe(plainOrderedTrieRoot(items))
  })
})

describe('hashBody', () => {
  it('gives the hash of a body and the root of the list in it, whatever their lengths', () => {
    fc.assert(
      fc.property(
        fc.array(item, { minLength: 1, maxLength: 60 }),
        fc.nat(3000),
        fc.nat(700),
        (items, before, after) => {
          const list = encodeList(items)
          const body = concatBytes(noise(before, 7), list, noise(after, 8))
          const { bodyHash, finishRoot } = hashes(body, { start: before, end: before + list.length })
          expect(toHex(bodyHash)).toBe(keccak256Hex(body))
          expect(toHex(finishRoot() ?? new Uint8Array(0))).toBe(plainOrderedTrieRoot(items))
        },
      ),
      { numRuns: propertyRuns(100) },
    )
  })

  it('hashes bodies of all lengths around a block of the hash', () => {
    for (const length of [0, 1, 134, 135, 136, 137, 271, 272, 273, 100_000]) {
      expect(toHex(hashes(noise(length, 3)).bodyHash)).toBe(keccak256Hex(noise(length, 3)))
    }
  })

  it('begins a trie of many items only when its root is asked for, with the same root', () => {
    const items = Array.from({ length: 20_000 }, (_, index) => noise(index % 7, index))
    const list = encodeList(items)
    const { bodyHash, finishRoot } = hashes(list, { start: 0, end: list.length })
    expect(toHex(bodyHash)).toBe(keccak256Hex(list))
    expect(toHex(finishRoot() ?? new Uint8Array(0))).toBe(plainOrderedTrieRoot(items))
  })

  it('has no root for a list whose offsets are no good, and for none', () => {
    const bad = [
      [],
      [1],
      [0, 0, 0, 0],
      [5, 0, 0, 0, 9],
      [8, 0, 0, 0],
      [8, 0, 0, 0, 7, 0, 0, 0, 1],
      [8, 0, 0, 0, 10, 0, 0, 0, 1],
    ]
    for (const bytes of bad) {
      const body = Uint8Array.from(bytes)
      const { bodyHash, finishRoot } = hashes(body, { start: 0, end: body.length })
      expect(toHex(bodyHash)).toBe(keccak256Hex(body))
      expect(finishRoot()).toBeUndefined()
    }
  })

  it('is unharmed by offsets that are anything', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), (body) => {
        const { bodyHash, finishRoot } = hashes(body, { start: 0, end: body.length })
        expect(toHex(bodyHash)).toBe(keccak256Hex(body))
        finishRoot()
        expect(toHex(hashes(body).bodyHash)).toBe(keccak256Hex(body))
      }),
      { numRuns: propertyRuns(300) },
    )
  })
})
