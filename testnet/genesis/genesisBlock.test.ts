import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { genesisBlockHash } from './genesisBlock.ts'
import { computeStateRoot } from './stateRoot.ts'

describe('genesis block', () => {
  it('has the hash that op-geth gave a recorded chain', () => {
    const file = new URL('../../test/vectors/data/op-node-holocene-span-brotli-calldata.json.gz', import.meta.url)
    const { genesis, rollup } = JSON.parse(gunzipSync(readFileSync(file)).toString())
    expect(genesisBlockHash(genesis, { isIsthmus: false })).toBe(rollup.genesis.l2.hash)
  })
  it('of no accounts has the empty state root', () => {
    expect(computeStateRoot({})).toBe('0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421')
  })
})
