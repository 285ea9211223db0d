import type { Fork, RollupConfig } from '../../../rollup/protocol/index.ts'

/** Why an endpoint could not be asked. */
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
  /** As the node would run it, with overrides. */
  config: RollupConfig
  /** Before overrides. */
  given: RollupConfig['forks']
  /** `network op-mainnet`, `rollup config ./rollup.json`. */
  source: string
  /** The registry's word on the same chain. */
  registry: { name: string; forks: RollupConfig['forks']; hasLeft: boolean } | undefined
  /** Whether fork times are those of the registry. */
  isBuiltIn: boolean
  /** Why the node does not start on it; `fork`: for which fork. */
  refusal: { text: string; fork: string | null } | undefined
  /** Forks of `--rollup.l1-chain-config`, by their names there. */
  l1Forks: readonly NamedTime[]
}

export interface FlagFacts {
  /** Warnings of the command line's reader: retired flags, variables that no flag has. */
  warnings: readonly string[]
  /** Warnings of the config's reader. */
  configWarnings: readonly string[]
  trustsL1: boolean
  /** Forks with an override. */
  overridden: readonly Fork[]
  hasBeaconFallbacks: boolean
  /** Whether the safe head is another node's (`--l2.follow.source`): no blob is read. */
  follows: boolean
}

export interface EngineFacts {
  url: string
  problem?: Problem
  chainId?: bigint
  /** As it calls itself. */
  client?: string
  /** Undefined where it does not say. */
  methods?: readonly string[]
  /** Null: it does not have the block. */
  genesisHash?: string | null
  head?: BlockMoment
  safe?: BlockMoment
  finalized?: BlockMoment
  isSyncing?: boolean
  /** Whether calls at the time of a fork run under its rules; absent where that does not show. */
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
  chainId?: bigint
  genesisHash?: string | null
  head?: BlockMoment & { isGlamsterdam: boolean }
  /** Why its head cannot be read. */
  headProblem?: { code: 'unknown-fork' | 'bad-answer'; text: string }
  current?: AnnouncedFork
  next?: AnnouncedFork
}

export interface BeaconFacts {
  url: string
  problem?: Problem
  version?: string
  genesisTime?: number
  /** Seconds; null: it says nothing of slots, as Anvil. */
  slotLength?: number | null
  /** Whether it has a spec, but not the length of slots in seconds. */
  lacksSlotLength?: boolean
  depositChainId?: bigint
  /** Forks of its spec that have a time, in lower case: `gloas`. */
  forks: readonly NamedTime[]
  /** Times at which its spec changes the number of blobs. */
  blobChanges: readonly number[]
  /** Seconds that it keeps blobs. */
  retentionS?: number
  slotsBehind?: number
  serves?: 'blobs' | 'sidecars' | 'none'
}

/** All that the rules judge. */
export interface DoctorFacts {
  nowS: number
  version: string
  chain: ChainFacts
  flags: FlagFacts
  /** In the order of `--l1`. */
  l1: readonly L1Facts[]
  engine: EngineFacts
  /** Undefined: none is configured. */
  beacon: BeaconFacts | undefined
}
