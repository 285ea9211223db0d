import { existsSync, readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { OpBuildJob } from '../../src/execution/block/buildJob.ts'
import type { BlockHeader } from '../../src/execution/chain/block.ts'
import { decodeHeader, sealHeader } from '../../src/execution/chain/headerCodec.ts'
import type { ChainConfig } from '../../src/execution/chain/types.ts'
import { EvmPool } from '../../src/execution/evm/evmPool.ts'
import { StateDatabase } from '../../src/execution/state/stateDatabase.ts'
import { WorldState } from '../../src/execution/state/worldState.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { fromHex, type Hex, toHex } from '../../src/lib/hex.ts'
import {
  attributesFromJson,
  blockHeaderFromJson,
  JsonObjectReader,
  parseRollupConfig,
} from '../../src/rollup/protocol/index.ts'

// Real blocks of OP Sepolia with every trie node, code and header that execution touches: executing the attributes on
// the parent state must give the block's hash, so that state, receipts, fees and header rules are all right.

const FOLDER = new URL('../../../shared/vectors/', import.meta.url)
const BLOCKS = [26207960, 26207963, 26208858]

interface Fixture {
  config: ChainConfig
  parent: BlockHeader
  attributes: unknown
  expectedHash: Hex
  preimages: Map<Hex, Uint8Array>
}

function load(number: number): Fixture {
  const file = new URL(`op-sepolia-block-${number}.json.gz`, FOLDER)
  const json = JSON.parse(gunzipSync(readFileSync(file)).toString())
  const rollup = parseRollupConfig(json.fixture.rollup_config)
  const options = rollup.chainOpConfig
  if (options === undefined) throw new Error('fixture without chain_op_config')
  const { unclesHash, coinbase, baseFeePerGas = 0n, ...header } = blockHeaderFromJson(json.fixture.parent_header)
  return {
    config: {
      chainId: rollup.l2ChainId,
      forks: rollup.forks,
      eip1559Elasticity: BigInt(options.eip1559Elasticity),
      eip1559Denominator: BigInt(options.eip1559Denominator),
      eip1559DenominatorCanyon: BigInt(options.eip1559DenominatorCanyon),
      json: {},
    },
    parent: sealHeader({ ...header, sha3Uncles: unclesHash, miner: coinbase, baseFeePerGas }),
    attributes: json.fixture.executing_payload,
    expectedHash: new JsonObjectReader(json.fixture, 'fixture').hex('expected_block_hash', 32),
    preimages: new Map(Object.entries(json.preimages).map(([hash, value]) => [`0x${hash}`, fromHex(String(value))])),
  }
}

describe.skipIf(!existsSync(FOLDER))('OP Sepolia blocks (skipped without ../shared/vectors)', () => {
  it.each(BLOCKS)('block %i built from its attributes has its hash', async (number) => {
    const { config, parent, attributes, expectedHash, preimages } = load(number)
    const read = (hash: Uint8Array) => preimages.get(toHex(hash))
    const world = new WorldState(new StateDatabase({ store: { node: read, code: read } }), parent.stateRoot)
    const header = (hash: Hex) => {
      if (hash === parent.hash) return parent
      const encoding = preimages.get(hash)
      return encoding === undefined ? undefined : decodeHeader(encoding)
    }
    const ancestry = { header, canonicalHeader: () => undefined, isCanonical: () => false }
    const job = await OpBuildJob.start(
      { evms: new EvmPool({ ancestry }, config), world, clock: systemClock, txSource: undefined, onBuilt: () => {} },
      {
        config,
        payloadId: '0x0000000000000000',
        parent,
        attributes: attributesFromJson(attributes),
        signal: undefined,
      },
    )
    const { block, receipts } = await job.seal()
    expect(receipts.length).toBe(block.transactions.length)
    expect(block.header.hash).toBe(expectedHash)
  })
})
