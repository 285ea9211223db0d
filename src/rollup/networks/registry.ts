import { UsageError } from '../../lib/errors.ts'
import type { Hex } from '../../lib/hex.ts'
import { nearestTo } from '../../lib/nearest.ts'
import { JsonObjectReader, type RollupConfig, rollupConfigToJson, ZERO_ADDRESS } from '../protocol/index.ts'
import networks from './networks.generated.json' with { type: 'json' }
import { REGISTRY_CHANNEL_TIMEOUT } from './registryEntry.ts'

// networks.generated.json holds the chains of the superchain registry, one line each, without the settings that all
// chains share. `forks` are activation times in the order of FORK_ORDER, up to the last scheduled fork.
// `altDataAvailability`: the registry says "alt-da" without the settings of a challenge contract. `leftRegistry`:
// op-node v1.21.0 no longer has the chain, and its settings are from REGISTRY_COMMIT.

/** The superchain registry commit that the data come from. */
export const REGISTRY_COMMIT = { hash: '8336d2ae', date: '2026-08-04' }
/** The data also include the registry changes of this op-node release: World Chain's Karst and GIWA Sepolia. */
export const REGISTRY_UPDATE = 'op-node v1.21.0'

const FORK_ORDER = ['canyon', 'delta', 'ecotone', 'fjord', 'granite', 'holocene', 'isthmus', 'jovian', 'karst'] as const
/** Number of names that the error about an unknown name suggests. */
const PROPOSALS = 3

/** Names of the built-in networks, in alphabetical order: `<chain>-<L1>`. */
export function networkNames(): string[] {
  return Object.keys(networks).sort()
}

/** The known names that are most similar to this name, best first. */
export function nearestNames(name: string): string[] {
  return nearestTo(name, networkNames(), PROPOSALS)
}

export function isBuiltIn(name: string): boolean {
  return Object.hasOwn(networks, name)
}

/** Rollup config of a built-in network. Throws UsageError that suggests the nearest names if the name is unknown. */
export function rollupConfigOf(name: string): RollupConfig {
  return readNetwork(entryOf(name))
}

/**
 * Whether a built-in network stores its batches elsewhere than in L1's calldata and blobs. Errors as in
 * `rollupConfigOf`.
 */
export function usesAltDa(name: string): boolean {
  const entry = entryOf(name)
  return entry.has('altDa') || entry.has('altDataAvailability')
}

/** Whether the upstream registry has dropped a built-in network. Errors as in `rollupConfigOf`. */
export function hasLeftRegistry(name: string): boolean {
  return entryOf(name).optionalBoolean('leftRegistry') === true
}

/** The name of the built-in network with this L2 chain id. */
export function networkOfChain(l2ChainId: bigint): string | undefined {
  return networkNames().find((name) => entryOf(name).bigint('l2') === l2ChainId)
}

/**
 * The output of `networks dump-rollup-config`: op-node's form plus the alternative-DA settings as flat fields, which
 * are always present. Errors as in `rollupConfigOf`.
 */
export function dumpRollupConfig(name: string): Record<string, unknown> {
  return dumpOf(rollupConfigOf(name))
}

/** The same output for any config. */
export function dumpOf(config: RollupConfig): Record<string, unknown> {
  const { altDa } = config
  return {
    ...rollupConfigToJson(config),
    da_challenge_address: altDa?.daChallengeAddress ?? ZERO_ADDRESS,
    da_challenge_window: altDa?.daChallengeWindow ?? 0,
    da_resolve_window: altDa?.daResolveWindow ?? 0,
    use_plasma: altDa !== undefined,
  }
}

function entryOf(name: string): JsonObjectReader {
  if (!isBuiltIn(name)) {
    throw new UsageError(`unknown network "${name}"; the nearest known are ${nearestNames(name).join(', ')}`)
  }
  return new JsonObjectReader(new JsonObjectReader(networks, 'networks').raw(name), `network ${name}`)
}

function readNetwork(network: JsonObjectReader): RollupConfig {
  const [elasticity = 0, denominator = 0, denominatorCanyon = 0] = network.array('eip1559').map(Number)
  const config: RollupConfig = {
    genesis: {
      l1: blockIdOf(network.array('genesisL1')),
      l2: blockIdOf(network.array('genesisL2')),
      l2Time: network.integer('genesisTime'),
      systemConfig: {
        batcherAddress: network.hex('batcher', 20),
        overhead: wordOf(network.bigint('overhead')),
        scalar: wordOf(network.bigint('scalar')),
        gasLimit: network.bigint('gasLimit'),
      },
    },
    blockTime: network.integer('blockTime'),
    maxSequencerDrift: network.integer('drift'),
    seqWindowSize: network.integer('window'),
    channelTimeout: REGISTRY_CHANNEL_TIMEOUT,
    l1ChainId: network.bigint('l1'),
    l2ChainId: network.bigint('l2'),
    forks: { regolith: 0 },
    batchInboxAddress: network.hex('inbox', 20),
    depositContractAddress: network.hex('portal', 20),
    l1SystemConfigAddress: network.hex('systemConfig', 20),
    chainOpConfig: {
      eip1559Elasticity: elasticity,
      eip1559Denominator: denominator,
      eip1559DenominatorCanyon: denominatorCanyon,
    },
  }
  network.array('forks').forEach((time, i) => {
    const fork = FORK_ORDER[i]
    if (fork !== undefined) config.forks[fork] = Number(time)
  })
  const pectra = network.optionalInteger('pectraBlobSchedule')
  if (pectra !== undefined) config.pectraBlobScheduleTime = pectra
  if (network.optionalBoolean('keepKarstUpgradeGas') === true) config.keepKarstUpgradeGas = true
  const altDa = network.optionalObject('altDa')
  if (altDa !== undefined) {
    config.altDa = {
      daChallengeAddress: altDa.hex('address', 20),
      daCommitmentType: altDa.optionalString('type') === 'GenericCommitment' ? 'GenericCommitment' : 'KeccakCommitment',
      daChallengeWindow: altDa.integer('challengeWindow'),
      daResolveWindow: altDa.integer('resolveWindow'),
    }
  }
  return config
}

function blockIdOf([number, hash]: readonly unknown[]): { number: number; hash: Hex } {
  return { number: Number(number), hash: `0x${String(hash).slice(2)}` }
}

function wordOf(value: bigint): Hex {
  return `0x${value.toString(16).padStart(64, '0')}`
}
