import type { Fork, RollupConfig } from '../../../rollup/protocol/index.ts'

/** Why a query of an endpoint failed. */
export interface Problem {
  code: 'down' | 'unauthorized' | 'no-secret' | 'wrong-kind'
  text: string
}

export interface BlockMoment {
  number: number
  /** Unix seconds. */
  time: number
}

export interface NamedTime {
  name: string
  time: number
}

/** The chain that the flags name. */
export interface ChainFacts {
  /** The config that the node would run, with overrides. */
  config: RollupConfig
  /** Without overrides. */
  given: RollupConfig['forks']
  /** `network op-mainnet`, `rollup config ./rollup.json`. */
  source: string
  /** The registry's entry of the same chain. */
  registry: { name: string; forks: RollupConfig['forks']; hasLeft: boolean } | undefined
  /** Whether the fork times come from the registry. */
  isBuiltIn: boolean
  /** Why the node refuses to start on the chain. `fork`: the fork that causes it. */
  refusal: { text: string; fork: string | null } | undefined
  /** Forks of `--rollup.l1-chain-config`, by their names there. */
  l1Forks: readonly NamedTime[]
}

export interface FlagFacts {
  /** Warnings of the flag parser: retired flags, variables that set no flag. */
  warnings: readonly string[]
  /** Warnings of the config parser. */
  configWarnings: readonly string[]
  trustsL1: boolean
  /** Forks whose time a flag overrides. */
  overridden: readonly Fork[]
  hasBeaconFallbacks: boolean
}

export interface EngineFacts {
  url: string
  problem?: Problem
  chainId?: bigint | undefined
  /** The client's version text. */
  client?: string | undefined
  /** Undefined if the engine does not list its methods. */
  methods?: readonly string[] | undefined
  /** Null if the engine does not have the block. */
  genesisHash?: string | null | undefined
  head?: BlockMoment | undefined
  safe?: BlockMoment | undefined
  finalized?: BlockMoment | undefined
  isSyncing?: boolean | undefined
  /** Whether calls at the time of a fork run under its rules. Absent if the calls do not show it. */
  runs: Partial<Record<Fork, boolean>>
}

/** Blob fee parameters that an L1 endpoint announces (EIP-7910). */
export interface AnnouncedFork {
  time: number
  updateFraction: bigint | undefined
}

export interface L1Facts {
  url: string
  problem?: Problem
  chainId?: bigint | undefined
  genesisHash?: string | null | undefined
  head?: (BlockMoment & { isGlamsterdam: boolean }) | undefined
  /** Why the head cannot be read. */
  headProblem?: { code: 'unknown-fork' | 'bad-answer'; text: string }
  current?: AnnouncedFork | undefined
  next?: AnnouncedFork | undefined
}

export interface BeaconFacts {
  url: string
  problem?: Problem
  version?: string | undefined
  genesisTime?: number | undefined
  /** Seconds. Null: the endpoint has no slots, as Anvil. */
  slotLength?: number | null | undefined
  /** The spec lacks the length of slots in seconds. */
  lacksSlotLength?: boolean
  depositChainId?: bigint | undefined
  /** Forks of the spec that have a time, in lower case: `gloas`. */
  forks: readonly NamedTime[]
  /** Times at which the spec changes the number of blobs. */
  blobChanges: readonly number[]
  /** How long the endpoint keeps blobs, in seconds. */
  retentionS?: number | undefined
  slotsBehind?: number | undefined
  serves?: 'blobs' | 'sidecars' | 'none' | undefined
}

/** The node that gives the safe head. */
export interface FollowedFacts {
  url: string
  problem?: Problem
  chainId?: bigint | undefined
  safe?: BlockMoment
}

/** The input of the rules. */
export interface DoctorFacts {
  nowS: number
  version: string
  chain: ChainFacts
  flags: FlagFacts
  /** In the order of `--l1`. */
  l1: readonly L1Facts[]
  engine: EngineFacts
  /** Undefined: no beacon API is configured. */
  beacon: BeaconFacts | undefined
  /** Undefined: this node derives the safe head itself. A node that follows reads no blobs. */
  followed: FollowedFacts | undefined
}
