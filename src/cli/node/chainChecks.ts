import { UsageError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'
import { networkOfChain, rollupConfigOf, usesAltDa } from '../../rollup/networks/index.ts'
import { baseFeeConstants, isForkActive, type RollupConfig } from '../../rollup/protocol/index.ts'

/** The configured chain, before any check. */
export interface ChosenChain {
  config: RollupConfig
  /** As the operator named it: `network op-mainnet`, `rollup config ./rollup.json`. */
  source: string
  usesAltDa: boolean
}

const SEPOLIA = 11_155_111n
/**
 * Prague's activation on Sepolia. Chains that existed by then kept Cancun's blob fee parameters at first (EIP-7691), so their
 * config must say when they adopted Prague's.
 */
const SEPOLIA_PRAGUE_TIME = 1_741_159_776

/** Refuses a chain whose batches are not on L1: derivation would produce empty blocks. Throws UsageError. */
export function refuseAltDa({ config, source, usesAltDa: isMarked }: ChosenChain): void {
  const known = networkOfChain(config.l2ChainId)
  if (!isMarked && config.altDa === undefined && (known === undefined || !usesAltDa(known))) return
  const chain = known === undefined || source.endsWith(` ${known}`) ? source : `${source} (${known})`
  throw new UsageError(
    `${chain} stores its batches in an alternative data availability layer (alt-DA). This node reads batches from L1 only, so it would derive only empty blocks`,
  )
}

/**
 * Refuses to derive a chain that executes messages of other chains. A block with invalid messages is replaced, and one node
 * cannot check messages of another chain. Throws UsageError.
 */
export function refuseUncheckedMessages(config: RollupConfig, followSource: string | undefined): void {
  const { dependencySet = [], forks, l2ChainId } = config
  if (forks.lagoon === undefined || dependencySet.length <= 1 || followSource !== undefined) return
  const others = dependencySet.filter((id) => id !== l2ChainId).join(', ')
  throw new UsageError(
    `chain ${l2ChainId} accepts messages from chains (${others}) that this node does not check, so its safe head could be wrong. Follow an op-supernode of all these chains with --l2.follow.source`,
  )
}

/**
 * op-node's checks at the start that go beyond the rollup config's own. Missing EIP-1559 settings are filled in from the
 * registry, or for other chains with OP Mainnet's. Another chain that schedules Isthmus must have them, because op-node
 * v1.11.0, before Isthmus, made them mandatory. Throws UsageError.
 */
export function checkChain(
  { config, source }: ChosenChain,
  { ignoreMissingPectraBlobSchedule }: { ignoreMissingPectraBlobSchedule: boolean },
  logger: Logger,
): RollupConfig {
  if (
    !ignoreMissingPectraBlobSchedule &&
    config.pectraBlobScheduleTime === undefined &&
    config.l1ChainId === SEPOLIA &&
    config.genesis.l2Time <= SEPOLIA_PRAGUE_TIME
  ) {
    throw new UsageError(
      `${source}: probably missing Pectra blob schedule (pectra_blob_schedule_time): ask the chain's operator, or start with --ignore-missing-pectra-blob-schedule`,
    )
  }
  const parent = networkOfChain(config.l1ChainId)
  if (parent !== undefined) {
    throw new UsageError(
      `${source}: its L1 is ${parent}, an OP Stack L2. Neither this node nor op-node supports a chain on top of an L2 (L3)`,
    )
  }
  if (config.forks.lagoon !== undefined && config.dependencySet === undefined) {
    throw new UsageError(
      `${source}: the Lagoon (interop) upgrade is scheduled for ${config.forks.lagoon} but no dependency set is configured. Set --interop.dependency-set`,
      { details: { fork: 'lagoon' } },
    )
  }
  if (config.chainOpConfig !== undefined) return config
  const known = networkOfChain(config.l2ChainId)
  const chainOpConfig = known === undefined ? undefined : rollupConfigOf(known).chainOpConfig
  if (chainOpConfig !== undefined) return { ...config, chainOpConfig }
  if (isForkActive(config, 'isthmus', Number.MAX_SAFE_INTEGER)) {
    throw new UsageError(
      `${source}: chain_op_config is missing (eip1559Elasticity, eip1559Denominator, eip1559DenominatorCanyon), and chain ${config.l2ChainId} is not in the built-in registry`,
    )
  }
  logger.warn('The rollup config lacks chain_op_config. The node uses the settings of OP Mainnet', {
    ...baseFeeConstants(config),
  })
  return config
}
