import { DecodeError } from '../../lib/errors.ts'
import { fromHex, type Hex, toHex } from '../../lib/hex.ts'
import { asObject } from '../../lib/jsonReader.ts'
import {
  attributesFromJson,
  blockHeaderFromJson,
  JsonObjectReader,
  parseRollupConfig,
} from '../../rollup/protocol/index.ts'
import type { PayloadAttributes } from '../../rollup/protocol/types.ts'
import type { ChainConfig } from '../config/chainConfig.ts'
import type { Block, BlockHeader, Receipt } from '../primitives/block.ts'
import { NO_STATE, StateDatabase } from '../state/stateDatabase.ts'
import type { StateKey } from '../state/stateKeys.ts'
import { WorldState } from '../state/worldState.ts'
import { buildForced } from './forcedBlock.ts'
import { decodeHeader, sealHeader } from './storage/headerCodec.ts'

/** A block that can be executed without a database. */
export interface StatelessBlock {
  config: ChainConfig
  parent: BlockHeader
  attributes: PayloadAttributes
  expectedHash: Hex
  /** Trie nodes, code and headers that the execution reads, by their Keccak hash. */
  preimages: ReadonlyMap<Hex, Uint8Array>
}

/**
 * Reads a file in the format of kona's executor tests: `fixture` (rollup_config, parent_header, executing_payload,
 * expected_block_hash) and `preimages`. Throws DecodeError with the invalid field.
 */
export function parseStatelessBlock(json: unknown): StatelessBlock {
  const file = new JsonObjectReader(json, 'file')
  const fixture = new JsonObjectReader(file.raw('fixture'), 'fixture')
  const rollup = parseRollupConfig(fixture.raw('rollup_config'))
  const options = rollup.chainOpConfig
  if (options === undefined) throw new DecodeError('fixture.rollup_config: chain_op_config is missing')
  const preimages = asObject(file.raw('preimages'), 'preimages')
  return {
    config: {
      chainId: rollup.l2ChainId,
      forks: rollup.forks,
      eip1559Elasticity: BigInt(options.eip1559Elasticity),
      eip1559Denominator: BigInt(options.eip1559Denominator),
      eip1559DenominatorCanyon: BigInt(options.eip1559DenominatorCanyon),
      json: {},
    },
    parent: sealHeader(blockHeaderFromJson(fixture.raw('parent_header'))),
    attributes: attributesFromJson(fixture.raw('executing_payload')),
    expectedHash: fixture.hex('expected_block_hash', 32),
    preimages: new Map(Object.entries(preimages).map(([hash, value]) => [`0x${hash}`, fromHex(String(value))])),
  }
}

/** Executes the attributes on the parent's state. Throws ChainError, or MissingNodeError if a preimage is missing. */
export async function executeStateless({
  config,
  parent,
  attributes,
  preimages,
}: StatelessBlock): Promise<{ block: Block; receipts: Receipt[] }> {
  const read = (hash: Uint8Array) => preimages.get(toHex(hash))
  const witness = { ...NO_STATE, node: (_: StateKey, hash: Uint8Array) => read(hash), code: read }
  const world = new WorldState(new StateDatabase({ store: witness }).at(witness), parent.stateRoot)
  const header = (hash: Hex) => {
    if (hash === parent.hash) return parent
    const encoding = preimages.get(hash)
    return encoding === undefined ? undefined : decodeHeader(encoding)
  }
  const ancestry = { header, canonicalHeader: () => undefined, isCanonical: () => false }
  return buildForced({ evm: { config, ancestry }, world }, { parent, attributes })
}
