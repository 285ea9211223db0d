import { UsageError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'
import { networkOfChain, rollupConfigOf, usesAltDa } from '../../rollup/networks/index.ts'
import { baseFeeConstants, isForkActive, type RollupConfig } from '../../rollup/protocol/index.ts'

/** A chain that somebody wants to run, before anything of it was checked. */
export interface ChosenChain {
  config: RollupConfig
  /** As the operator knows it: `network op-mainnet`, `rollup config ./rollup.json`. */
  source: string
  usesAltDa: boolean
}

const SEPOLIA = 11_155_111n
/** When Sepolia's chains met Prague's blob fee parameters with Cancun's (EIP-7691). */
const SEPOLIA_PRAGUE_TIME = 1_741_159_776

/** Refuses a chain whose batches L1 does not hold: derivation would make empty blocks of it. Throws UsageError. */
export function refuseAltDa({ config, source, usesAltDa: isMarked }: ChosenChain): void {
  const known = networkOfChain(config.l2ChainId)
  if (!isMarked && config.altDa === undefined && (known === undefined || !usesAltDa(known))) return
  const chain = known === undefined || source.endsWith(` ${known}`) ? source : `${source} (${known})`
  throw new UsageError(
    `${chain} keeps its batches in an alternative data availability layer (alt-DA): they are read from L1 only here, so that only empty blocks would be derived`,
  )
}

/**
 * Refuses to derive a chain that takes messages of other chains: a block whose messages are invalid is replaced, and one node sees one
 * chain only. Throws UsageError.
 */
export function refuseUncheckedMessages(config: RollupConfig, followSource: string | undefined): void {
  const { dependencySet = [], forks, l2ChainId } = config
  if (forks.lagoon === undefined || dependencySet.length <= 1 || followSource !== undefined) return
  const others = dependencySet.filter((id) => id !== l2ChainId).join(', ')
  throw new UsageError(
    `chain ${l2ChainId} takes messages from chains (${others}) that this node does not check, so its safe head could be wrong: follow an op-supernode of all of them by --l2.follow.source`,
  )
}

/**
 * What op-node checks of a chain at its start beside the rollup config itself. The EIP-1559 settings that older
 * configurations lack are filled in for a chain of the registry; of another one they may be missing only where no fork is
 * scheduled that came after they were demanded (op-node v1.11.0, before Isthmus). Throws UsageError.
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
      `${source}: its L1 is ${parent}, an OP Stack L2: a chain on top of one (L3) is not supported, as it is not by op-node`,
    )
  }
  if (config.forks.lagoon !== undefined && config.dependencySet === undefined) {
    throw new UsageError(
      `${source}: the Lagoon (interop) upgrade is scheduled for ${config.forks.lagoon} but no dependency set is configured: give it by --interop.dependency-set`,
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
  logger.warn('The rollup config lacks chain_op_config: the settings of OP Mainnet are taken', {
    ...baseFeeConstants(config),
  })
  return config
}
