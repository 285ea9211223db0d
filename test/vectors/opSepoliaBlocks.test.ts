import { existsSync, readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { executeStateless, parseStatelessBlock } from '../../src/execution/chain/statelessBlock.ts'

// Real blocks of OP Sepolia with every trie node, code and header that execution touches: executing the attributes on
// the parent state must give the block's hash, so that state, receipts, fees and header rules are all right.

const FOLDER = new URL('../../../shared/vectors/', import.meta.url)
const BLOCKS = [26207960, 26207963, 26208858]

describe.skipIf(!existsSync(FOLDER))('OP Sepolia blocks (skipped without ../shared/vectors)', () => {
  it.each(BLOCKS)('block %i built from its attributes has its hash', async (number) => {
    const file = new URL(`op-sepolia-block-${number}.json.gz`, FOLDER)
    const stateless = parseStatelessBlock(JSON.parse(gunzipSync(readFileSync(file)).toString()))
    const { block, receipts } = await executeStateless(stateless)
    expect(receipts.length).toBe(block.transactions.length)
    expect(block.header.hash).toBe(stateless.expectedHash)
    expect(block.header.number).toBe(number)
  })
})
