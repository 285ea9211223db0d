import { DecodeError } from '../../lib/errors.ts'
import { isObject } from '../../lib/jsonReader.ts'
import { parseAltDa, parseBlockId, parseForks, parseSystemConfig } from '../protocol/config/rollupConfig.ts'
import { JsonObjectReader, type RollupConfig } from '../protocol/index.ts'

/** L1 blocks. The registry omits this setting, because all its chains share it. */
const REGISTRY_CHANNEL_TIMEOUT = 300
/** Folders of the superchain registry and their L1 chain ids. */
const SUPERCHAIN_L1: Readonly<Record<string, bigint>> = { mainnet: 1n, sepolia: 11_155_111n }

/** A chain of the superchain registry. */
export interface RegistryEntry {
  /** The name for people: `OP Mainnet`. */
  displayName: string | undefined
  config: RollupConfig
  /** True if batches are stored elsewhere than in L1's calldata and blobs. */
  usesAltDa: boolean
}

/** Whether this is a registry entry rather than a rollup.json. */
export function isRegistryEntry(json: unknown): boolean {
  return isObject(json) && ('hardforks' in json || 'hardfork_configuration' in json)
}

/** The entry's forks. As in a rollup.json, each has a member `<name>_time`. */
export function hardforksOf(json: unknown): unknown {
  return isObject(json) ? (json.hardforks ?? json.hardfork_configuration) : undefined
}

/**
 * Parses one chain of the superchain registry: its TOML file, or kona's JSON form. The file does not name the chain's
 * L1. `superchain` is the file's folder (`mainnet`, `sepolia`), `l1ChainId` the operator's flag. Throws DecodeError
 * that names the member.
 */
export function parseRegistryEntry(
  json: unknown,
  { l1ChainId, superchain }: { l1ChainId?: bigint | undefined; superchain?: string | undefined } = {},
): RegistryEntry {
  const chain = new JsonObjectReader(json, 'registry entry')
  const genesis = chain.object('genesis')
  const addresses = chain.optionalObject('addresses') ?? chain.object('Addresses')
  const l1 = l1ChainId ?? chain.optionalBigint('l1_chain_id') ?? SUPERCHAIN_L1[superchain ?? '']
  if (l1 === undefined) {
    throw new DecodeError('registry entry: the L1 chain id is missing: set --l1-chain-id')
  }
  const settings = parseForks(new JsonObjectReader(hardforksOf(json), 'registry entry.hardforks'))
  const config: RollupConfig = {
    genesis: {
      l1: parseBlockId(genesis.object('l1')),
      l2: parseBlockId(genesis.object('l2')),
      l2Time: genesis.integer('l2_time'),
      systemConfig: parseSystemConfig(genesis.object('system_config')),
    },
    blockTime: chain.integer('block_time'),
    maxSequencerDrift: chain.integer('max_sequencer_drift'),
    seqWindowSize: chain.integer('seq_window_size'),
    channelTimeout: REGISTRY_CHANNEL_TIMEOUT,
    l1ChainId: l1,
    l2ChainId: chain.optionalBigint('chain_id') ?? chain.bigint('l2_chain_id'),
    ...settings,
    forks: { regolith: 0, ...settings.forks },
    batchInboxAddress: chain.optionalHex('batch_inbox_addr', 20) ?? chain.hex('batch_inbox_address', 20),
    depositContractAddress: addresses.hex('OptimismPortalProxy', 20),
    l1SystemConfigAddress: addresses.hex('SystemConfigProxy', 20),
  }
  const fees = chain.optionalObject('optimism')
  if (fees !== undefined) {
    const denominator = fees.optionalInteger('eip1559_denominator') ?? fees.integer('eip1559Denominator')
    config.chainOpConfig = {
      eip1559Elasticity: fees.optionalInteger('eip1559_elasticity') ?? fees.integer('eip1559Elasticity'),
      eip1559Denominator: denominator,
      eip1559DenominatorCanyon:
        fees.optionalInteger('eip1559_denominator_canyon') ?? fees.optionalInteger('eip1559DenominatorCanyon') ?? 0,
    }
  }
  const altDa = parseAltDa(chain)
  if (altDa !== undefined) config.altDa = altDa
  const availability = chain.optionalString('data_availability_type') ?? chain.optionalString('DataAvailabilityType')
  return {
    displayName: chain.optionalString('name') ?? chain.optionalString('Name'),
    config,
    usesAltDa: altDa !== undefined || availability === 'alt-da',
  }
}
