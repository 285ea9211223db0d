import { MerklePatriciaTrie } from '@ethereumjs/mpt'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { concatBytes } from '../../lib/bytes.ts'
import { keccak256 } from '../../lib/hash.ts'
import { fromHex, type Hex, toHex } from '../../lib/hex.ts'
import { propertyRuns } from '../../lib/testUtils/propertyRuns.ts'
import { EMPTY_TRIE_ROOT } from '../../rollup/protocol/constants.ts'
import { type NodePath, type NodeReader, openTrie, Trie } from './trie.ts'

/** Encodings by hash, as a database would hold them. */
class NodeMap implements NodeReader {
  readonly nodes = new Map<Hex, Uint8Array>()

  node(_: NodePath, hash: Uint8Array): Uint8Array {
    const encoding = this.nodes.get(toHex(hash))
    if (encoding === undefined) throw new Error(`no node ${toHex(hash)}`)
    return encoding
  }

  readonly sink = (_: NodePath, encoding: Uint8Array | null): void => {
    // As LevelDB returns them.
    if (encoding !== null) this.nodes.set(toHex(keccak256(encoding)), Buffer.from(encoding))
  }
}

/** Keys with long common prefixes, so that extensions are created and removed. */
const key = fc
  .tuple(fc.constantFrom(0x00, 0x01, 0x10, 0x11), fc.integer({ min: 0, max: 3 }), fc.constantFrom(0, 0x0f, 0xf0))
  .map(([first, middle, last]) => Uint8Array.of(first, 0, 0, middle, last))
const value = fc.uint8Array({ minLength: 1, maxLength: 40 })
const change = fc.oneof(
  { weight: 3, arbitrary: fc.record({ key, value }) },
  { weight: 1, arbitrary: fc.record({ key, value: fc.constant(undefined) }) },
)
const changes = fc.array(change, { maxLength: 12 })
const rounds = fc.array(changes, { minLength: 1, maxLength: 5 })

describe('Trie', () => {
  it('has the root of EthereumJS’s trie after any sequence of changes', async () => {
    await fc.assert(
      fc.asyncProperty(rounds, async (sequence) => {
        const store = new NodeMap()
        const reference = new MerklePatriciaTrie({ useKeyHashing: false })
        const expected = new Map<Hex, Uint8Array>()
        let trie = new Trie(store, null)
        for (const changes of sequence) {
          for (const { key, value } of changes) {
            if (value === undefined) {
              trie.delete(key)
              await reference.del(key)
              expected.delete(toHex(key))
            } else {
              trie.put(key, value)
              await reference.put(key, value)
              expected.set(toHex(key), value)
            }
          }
          const root = trie.commit(store.sink)
          expect(root).toBe(toHex(reference.root()))
          // The written nodes are enough to read the trie again.
          trie = openTrie(store, fromHex(root))
          for (const [text, stored] of expected) {
            expect(new Uint8Array(trie.get(fromHex(text)) ?? [])).toEqual(stored)
          }
        }
      }),
      { numRuns: propertyRuns(200) },
    )
  })

  it('returns the paths of changed nodes: applied to storage, they give exactly the nodes of the trie', () => {
    fc.assert(
      fc.property(rounds, fc.boolean(), (sequence, isReopened) => {
        const places = new Map<NodePath, Uint8Array>()
        const store: NodeReader = {
          node(path, hash) {
            const encoding = places.get(path)
            if (encoding === undefined) throw new Error(`no node at ${path}`)
            expect(toHex(keccak256(encoding))).toBe(toHex(hash))
            return encoding
          },
        }
        let trie = new Trie(store, null)
        for (const changes of sequence) {
          for (const { key, value } of changes) {
            if (value === undefined) trie.delete(key)
            else trie.put(key, value)
          }
          const root = trie.commit((path, encoding) => {
            if (encoding === null) places.delete(path)
            else places.set(path, encoding)
          })
          const found = new Set<NodePath>()
          openTrie(store, fromHex(root)).forEachNode(({ ref }, above) => {
            if (above.length === 0 || ref?.length === 32) found.add(Buffer.from(above).toString('latin1'))
          })
          expect(new Set(places.keys())).toEqual(found)
          if (isReopened) trie = openTrie(store, fromHex(root))
        }
      }),
      { numRuns: propertyRuns(400) },
    )
  })

  it('leaves an earlier trie as it was when a later one shares its nodes', () => {
    fc.assert(
      fc.property(changes, changes, fc.boolean(), (before, after, isReopened) => {
        const store = new NodeMap()
        const first = new Trie(store, null)
        const expected = new Map<Hex, Uint8Array>()
        for (const { key, value } of before) {
          if (value === undefined) first.delete(key)
          else first.put(key, value)
          if (value === undefined) expected.delete(toHex(key))
          else expected.set(toHex(key), value)
        }
        const root = first.commit(store.sink)
        const second = isReopened ? openTrie(store, fromHex(root)) : new Trie(store, first.rootNode())
        for (const { key, value } of after) {
          if (value === undefined) second.delete(key)
          else second.put(key, value)
        }
        second.commit(store.sink)
        expect(first.commit(store.sink)).toBe(root)
        for (const trie of [first, openTrie(store, fromHex(root))]) {
          for (const [text, stored] of expected) expect(new Uint8Array(trie.get(fromHex(text)) ?? [])).toEqual(stored)
        }
      }),
    )
  })

  it('returns no new nodes if nothing changed', () => {
    const store = new NodeMap()
    const trie = new Trie(store, null)
    for (let i = 0; i < 100; i++) trie.put(keccak256(Uint8Array.of(i)), Uint8Array.of(i + 1))
    const root = trie.commit(store.sink)
    const reopened = openTrie(store, fromHex(root))
    for (let i = 0; i < 100; i++) reopened.put(keccak256(Uint8Array.of(i)), Uint8Array.of(i + 1))
    const written: NodePath[] = []
    expect(reopened.commit((path) => written.push(path))).toBe(root)
    expect(written).toEqual([])
  })

  it('has the empty root after all entries are deleted', () => {
    const store = new NodeMap()
    const trie = new Trie(store, null)
    const keys = Array.from({ length: 50 }, (_, i) => keccak256(Uint8Array.of(i)))
    for (const key of keys) trie.put(key, Uint8Array.of(1))
    trie.commit(store.sink)
    for (const key of keys) trie.delete(key)
    expect(trie.commit(store.sink)).toBe(EMPTY_TRIE_ROOT)
  })

  it('proves presence and absence with the nodes that EthereumJS’s verifier accepts', async () => {
    const store = new NodeMap()
    const trie = new Trie(store, null)
    const keys = Array.from({ length: 200 }, (_, i) => keccak256(Uint8Array.of(i)))
    for (const key of keys) trie.put(key, concatBytes(Uint8Array.of(0xa0), key))
    const root = fromHex(trie.commit(store.sink))
    const { verifyMerkleProof } = await import('@ethereumjs/mpt')
    for (const key of keys.slice(0, 20)) {
      const value = await verifyMerkleProof(key, openTrie(store, root).prove(key), { root, useKeyHashing: false })
      expect(value).toEqual(concatBytes(Uint8Array.of(0xa0), key))
    }
    const absent = keccak256(Uint8Array.of(250))
    expect(await verifyMerkleProof(absent, trie.prove(absent), { root, useKeyHashing: false })).toBeNull()
  })
})
