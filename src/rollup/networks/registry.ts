import { UsageError } from '../../lib/errors.ts'
import { nearestTo } from '../../lib/nearest.ts'
import {
  JsonObjectReader,
  parseRollupConfig,
  type RollupConfig,
  rollupConfigToJson,
  ZERO_ADDRESS,
} from '../protocol/index.ts'
import networks from './networks.generated.json' with { type: 'json' }

// networks.generated.json holds the chains of the superchain registry, one line each. `rollup` is the chain's
// rollup.json. `altDataAvailability`: the registry says "alt-da" without the settings of a challenge contract.
// `leftRegistry`: op-node v1.21.0 no longer has the chain, and its settings are from REGISTRY_COMMIT.

/** The superchain registry commit that the data come from. */
export const REGISTRY_COMMIT = { hash: '8336d2ae', date: '2026-08-04' }
/** The data also include the registry changes of this op-node release: World Chain's Karst and GIWA Sepolia. */
export const REGISTRY_UPDATE = 'op-node v1.21.0'

/** Number of names that the error about an unknown name suggests. */
const PROPOSALS = 3

/** Names of the built-in networks, in alphabetical order: `<chain>-<L1>`. */
export function networkNames(): string[] {
  return Object.keys(networks).sort()
}

export function isBuiltIn(name: string): boolean {
  return Object.hasOwn(networks, name)
}

/** Rollup config of a built-in network. Throws UsageError that suggests the nearest names if the name is unknown. */
export function rollupConfigOf(name: string): RollupConfig {
  return parseRollupConfig(entryOf(name).raw('rollup'))
}

/**
 * Whether a built-in network stores its batches elsewhere than in L1's calldata and blobs. Errors as in
 * `rollupConfigOf`.
 */
export function usesAltDa(name: string): boolean {
  return entryOf(name).has('altDataAvailability') || rollupConfigOf(name).altDa !== undefined
}

/** Whether the upstream registry has dropped a built-in network. Errors as in `rollupConfigOf`. */
export function hasLeftRegistry(name: string): boolean {
  return entryOf(name).optionalBoolean('leftRegistry') === true
}

/** The name of the built-in network with this L2 chain id. */
export function networkOfChain(l2ChainId: bigint): string | undefined {
  return networkNames().find((name) => rollupConfigOf(name).l2ChainId === l2ChainId)
}

/**
 * The output of `networks dump-rollup-config`: op-node's form plus the alternative-DA settings as flat fields, which
 * are always present.
 */
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
    const nearest = nearestTo(name, networkNames(), PROPOSALS).join(', ')
    throw new UsageError(`unknown network "${name}"; the nearest known are ${nearest}`)
  }
  return new JsonObjectReader(new JsonObjectReader(networks, 'networks').raw(name), `network ${name}`)
}
