import { DecodeError, UsageError } from '../../lib/errors.ts'
import { JsonObjectReader } from '../../lib/jsonReader.ts'
import { isForkActive } from '../../rollup/protocol/config/forks.ts'
import { FORKS, type Fork } from '../../rollup/protocol/types.ts'

/** The active forks at a block's timestamp. */
export type Rules = Readonly<Record<Fork, boolean>>

/** Cached rules, keyed by the latest active fork. That fork implies all earlier ones. */
const knownRules = new Map<Fork | undefined, Rules>()

/** Returns the same object for all timestamps with the same active forks. */
export function rulesAt(config: Pick<ChainConfig, 'forks'>, timestamp: number): Rules {
  const active = (fork: Fork) => isForkActive(config, fork, timestamp)
  const latest = FORKS.findLast(active)
  let rules = knownRules.get(latest)
  if (rules === undefined) {
    rules = Object.fromEntries(FORKS.map((fork) => [fork, active(fork)])) as Rules
    knownRules.set(latest, rules)
  }
  return rules
}

/**
 * Forks from Jovian on: their activation blocks may hold only deposits (specs: jovian/derivation, "Activation Block").
 */
const EMPTY_ACTIVATION_FORKS = [
  ['jovian', 'Jovian'],
  ['karst', 'Karst'],
  ['lagoon', 'Lagoon'],
] as const

/** Name of the fork that a block with this timestamp activates, if that block may have no signed transactions. */
export function emptyActivationFork(
  config: Pick<ChainConfig, 'forks'>,
  timestamp: number,
  parentTimestamp: number,
): string | undefined {
  for (const [fork, name] of EMPTY_ACTIVATION_FORKS) {
    if (isForkActive(config, fork, timestamp) && !isForkActive(config, fork, parentTimestamp)) return name
  }
  return undefined
}

/** Ethereum's fork that must activate together with the OP fork (specs: each fork's overview, "Execution Layer"). */
const PAIRED_FORKS = [
  ['shanghaiTime', 'canyonTime'],
  ['cancunTime', 'ecotoneTime'],
  ['pragueTime', 'isthmusTime'],
] as const

/** Reads the `config` object of a geth genesis file. Throws UsageError if this client cannot run the chain. */
export function parseChainConfig(json: unknown): ChainConfig {
  try {
    const reader = new JsonObjectReader(json, 'genesis.json: config')
    const optimism = reader.optionalObject('optimism')
    if (optimism === undefined) throw new UsageError('genesis.json: config.optimism is missing: not an OP Stack chain')
    const bedrockBlock = reader.optionalBigint('bedrockBlock')
    if (bedrockBlock !== 0n) throw new UsageError('genesis.json: config.bedrockBlock must be 0')
    const forks: ChainConfig['forks'] = {}
    for (const fork of FORKS) {
      // op-geth's genesis files have Lagoon under its older name.
      const older = fork === 'lagoon' ? reader.optionalBigint('interopTime') : undefined
      const time = reader.optionalBigint(`${fork}Time`) ?? older
      if (time !== undefined && time <= BigInt(Number.MAX_SAFE_INTEGER)) forks[fork] = Number(time)
    }
    for (const [ethereum, op] of PAIRED_FORKS) {
      const [left, right] = [reader.optionalBigint(ethereum), reader.optionalBigint(op)]
      if (left !== right) throw new UsageError(`genesis.json: config.${ethereum} and config.${op} must be equal`)
    }
    // The parts of Osaka that Karst uses activate with karstTime. op-reth's files have no osakaTime; op-geth's may have
    // both.
    const [osaka, karst] = [reader.optionalBigint('osakaTime'), reader.optionalBigint('karstTime')]
    if (osaka !== undefined && osaka !== karst) {
      throw new UsageError('genesis.json: config.osakaTime must equal config.karstTime, or be left out')
    }
    const denominatorCanyon = optimism.optionalBigint('eip1559DenominatorCanyon') ?? 0n
    const config: ChainConfig = {
      chainId: reader.bigint('chainId'),
      forks,
      eip1559Elasticity: optimism.bigint('eip1559Elasticity'),
      eip1559Denominator: optimism.bigint('eip1559Denominator'),
      eip1559DenominatorCanyon: denominatorCanyon,
      json: json as Record<string, unknown>,
    }
    if (config.eip1559Elasticity === 0n || config.eip1559Denominator === 0n) {
      throw new UsageError(
        'genesis.json: config.optimism must have a non-zero eip1559Elasticity and eip1559Denominator',
      )
    }
    if (isForkActive(config, 'canyon', Number.MAX_SAFE_INTEGER) && denominatorCanyon === 0n) {
      throw new UsageError('genesis.json: config.optimism.eip1559DenominatorCanyon must be set and not zero')
    }
    return config
  } catch (error) {
    if (error instanceof DecodeError) throw new UsageError(error.message, { cause: error })
    throw error
  }
}

/** The chain configuration of genesis.json. */
export interface ChainConfig {
  chainId: bigint
  /** Activation times in Unix seconds; missing = never. Bedrock is always active. */
  forks: Partial<Record<Fork, number>>
  eip1559Elasticity: bigint
  eip1559Denominator: bigint
  eip1559DenominatorCanyon: bigint
  /** The `config` object of genesis.json, unchanged. */
  json: Readonly<Record<string, unknown>>
}
