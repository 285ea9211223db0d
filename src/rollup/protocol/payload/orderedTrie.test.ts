import { createMPT } from '@ethereumjs/mpt'
import { RLP } from '@ethereumjs/rlp'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fromHex, toHex } from '../../../lib/hex.ts'
import { encodeRlp } from '../../../lib/rlp.ts'
import { propertyRuns } from '../../../lib/testUtils/propertyRuns.ts'
import { EMPTY_TRIE_ROOT } from '../constants.ts'
import { orderedTrieRoot } from './orderedTrie.ts'

async function referenceRoot(items: readonly Uint8Array[]): Promise<string> {
  const trie = await createMPT()
  for (const [index, item] of items.entries()) await trie.put(RLP.encode(index), item)
  return toHex(trie.root())
}

describe('orderedTrieRoot', () => {
  it('of an empty list is the empty root', () => {
    expect(orderedTrieRoot([])).toBe(EMPTY_TRIE_ROOT)
  })

  it.each([1, 2, 3, 15, 16, 17, 126, 127, 128, 129, 130, 143, 144, 255, 256, 257, 272, 1000, 4095, 4097])(
    'of %i items agrees with a general trie',
    async (count) => {
      const items = Array.from({ length: count }, (_, i) => encodeRlp([i, new Uint8Array(i % 90).fill(i)]))
      expect(orderedTrieRoot(items)).toBe(await referenceRoot(items))
    },
  )

  it('agrees with a general trie on arbitrary items, including items embedded in their parent', async () => {
    const item = fc.oneof(
      fc.uint8Array({ minLength: 1, maxLength: 4 }),
      fc.uint8Array({ minLength: 20, maxLength: 300 }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(item, { maxLength: 140 }), async (items) => {
        expect(orderedTrieRoot(items)).toBe(await referenceRoot(items))
      }),
      { numRuns: propertyRuns(40) },
    )
  })

  it('hashes receipts like op-geth', () => {
    const receipt = (fields: readonly (number | Uint8Array | readonly Uint8Array[])[]) =>
      Uint8Array.of(0x7e, ...encodeRlp([1, 46_913, new Uint8Array(256), [], ...fields]))
    expect(orderedTrieRoot([receipt([])])).toBe('0x3f71ebd8822765e8146170b0f930f55f753dbb867f55e4e605894016cd32f1e2')
    expect(orderedTrieRoot([receipt([5, 1])])).toBe(
      '0x76124100f3f7992901cab39f9184a04b3e31e195dd3fc2df0ade93f0a3df80c3',
    )
  })

  it('agrees with a general trie beyond 65,536 items, where keys are a byte longer', () => {
    const items = Array.from({ length: 66_000 }, (_, index) => Uint8Array.of(index, index >> 8, 1).subarray(index % 3))
    // Computed with EthereumJS, which takes 24 s.
    expect(orderedTrieRoot(items)).toBe('0xefac0263ced089bedd3e1c11ccdb3cae9509175eefc2136e2c74123251438507')
  })

  it('accepts items of a megabyte', async () => {
    const items = [new Uint8Array(1_000_000).fill(1), fromHex('0x01'), new Uint8Array(70_000).fill(2)]
    expect(orderedTrieRoot(items)).toBe(await referenceRoot(items))
  })
})
