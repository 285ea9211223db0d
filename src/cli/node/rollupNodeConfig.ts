import { readFileSync } from 'node:fs'
import { describeError, UsageError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'
import { describeUnknown } from '../../lib/unknownMembers.ts'
import {
  findNetwork,
  hasLeftRegistry,
  isBuiltIn,
  ownNetworksFolder,
  REGISTRY_COMMIT,
} from '../../rollup/networks/index.ts'
import {
  checkRollupConfig,
  hasKnownBlobSchedule,
  isForkActive,
  parseRollupConfig,
  type RollupConfig,
  unknownConfigMembers,
} from '../../rollup/protocol/index.ts'
import type { FlagValues } from '../shared/flags.ts'
import { checkHttpUrl, isHttpUrl } from '../shared/httpUrl.ts'
import { type ChosenChain, checkChain, refuseAltDa } from './chainChecks.ts'
import { checkDashboardFlags } from './dashboardFlags.ts'
import { readL1BlobSchedule } from './l1ChainConfig.ts'
import { readDependencySet, readUpgradeBundleFile } from './lagoonFiles.ts'
import { FORK_OVERRIDES, type rollupNodeFlags } from './rollupNodeFlags.ts'

type Values = FlagValues<typeof rollupNodeFlags>
/** Flags that choose the chain. */
export type ConfigValues = Pick<
  Values,
  | 'network'
  | 'rollupConfig'
  | 'rollupL1ChainConfig'
  | 'interopDependencySet'
  | 'rollupUpgradeBundle'
  | 'overridePectrablobschedule'
  | 'overrideKeepKarstUpgradeGas'
  | 'ignoreMissingPectraBlobSchedule'
  | keyof typeof FORK_OVERRIDES
>

/** Loads and checks the chain that the flags name. As in op-node, `network` wins over a file. Throws UsageError. */
export async function loadRollupConfig(values: ConfigValues, logger: Logger): Promise<RollupConfig> {
  const { chosen } = await readChosenChain(values, logger)
  if (values.network !== undefined && isBuiltIn(values.network) && hasLeftRegistry(values.network)) {
    logger.warn(
      'The superchain registry has removed this network, so this version does not know its later forks. Set --rollup.config',
      { network: values.network, registry: REGISTRY_COMMIT.date },
    )
  }
  return validateChain(chosen, values, logger)
}

/** Reads the chain without checks, and also without overrides. Throws UsageError if there is no such chain. */
export async function readChosenChain(
  values: ConfigValues,
  logger: Logger,
): Promise<{ given: RollupConfig; chosen: ChosenChain }> {
  const read = await readConfig(values, logger)
  return { given: read.config, chosen: { ...read, config: withOverrides(read.config, values) } }
}

/** Refuses a chain that this node cannot derive, and fills in missing settings. Throws UsageError. */
export function validateChain(chosen: ChosenChain, values: ConfigValues, logger: Logger): RollupConfig {
  refuseAltDa(chosen)
  checkRollupConfig(chosen.config)
  const checked = checkChain({ ...chosen, config: withLagoonFiles(chosen.config, values) }, values, logger)
  return { ...checked, ...l1BlobScheduleOf(values.rollupL1ChainConfig, checked) }
}

/** Refuses contradicting or incomplete flags before anything starts. */
export function checkRollupNodeFlags(values: Values): { l2: string; jwtPath: string } {
  if (values.l2 === undefined) throw new UsageError('--l2 is required: the address of the Engine API')
  if (values.l2JwtSecret === undefined) {
    throw new UsageError('--l2.jwt-secret is required: the file with the secret shared with the engine')
  }
  if (values.l1.length === 0) throw new UsageError('--l1 is required: the JSON-RPC address of L1')
  for (const url of values.l1) {
    // The error does not repeat the value, which may hold a key.
    if (isHttpUrl(url.replace(/^ws/, 'http'))) continue
    throw new UsageError('--l1 must be an http://, https://, ws:// or wss:// address')
  }
  checkHttpUrl('--l2', values.l2)
  for (const [name, intervalMs] of [
    ['l1.http-poll-interval', values.l1HttpPollInterval],
    ['l1.epoch-poll-interval', values.l1EpochPollInterval],
  ] as const) {
    if (intervalMs < MIN_POLL_MS) throw new UsageError(`--${name} must be at least ${MIN_POLL_MS}ms`)
  }
  if (values.l2FollowSource !== undefined) checkHttpUrl('--l2.follow.source', values.l2FollowSource)
  if (values.conductorEnabled) checkConductorFlags(values)
  checkDashboardFlags(values)
  if (values.sequencerStopped && !values.sequencerEnabled) {
    throw new UsageError('--sequencer.stopped requires --sequencer.enabled')
  }
  return { l2: values.l2, jwtPath: values.l2JwtSecret }
}

/** op-node's rules and messages: only the conductor chooses the active sequencer, also after a restart. */
function checkConductorFlags(values: Values): void {
  if (values.rpcAdminState !== undefined) {
    throw new UsageError('config persistence must be disabled when conductor is enabled (--rpc.admin-state)')
  }
  if (!values.sequencerEnabled) {
    throw new UsageError('sequencer must be enabled when conductor is enabled (--sequencer.enabled)')
  }
  checkHttpUrl('--conductor.rpc', values.conductorRpc)
}

/** A shorter interval costs more than the earlier update is worth. */
const MIN_POLL_MS = 10

async function readConfig(values: ConfigValues, logger: Logger): Promise<ChosenChain> {
  const { network, rollupConfig: path } = values
  if (network !== undefined) {
    if (path !== undefined)
      logger.error('Both --network and --rollup.config are set. The node uses --network', { network })
    const found = await findNetwork(network, ownNetworksFolder())
    return { ...found, source: `network ${network}` }
  }
  if (path === undefined) throw new UsageError('--network or --rollup.config is required: the chain to run')
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (cause) {
    throw new UsageError(`cannot read rollup config ${path}: ${describeError(cause)}`, { cause })
  }
  try {
    const json: unknown = JSON.parse(text)
    const config = parseRollupConfig(json)
    for (const unknown of unknownConfigMembers(json)) {
      // ForkWatch warns of unknown forks and names their times.
      const isFork = config.unknownForks?.some(({ name }) => unknown.member === `${name}_time`) === true
      if (!isFork) logger.warn(describeUnknown(unknown), { file: path })
    }
    return { config, source: `rollup config ${path}`, usesAltDa: false }
  } catch (cause) {
    throw new UsageError(`rollup config ${path} is not valid: ${describeError(cause)}`, { cause })
  }
}

function withOverrides(config: RollupConfig, values: ConfigValues): RollupConfig {
  const forks = { ...config.forks }
  for (const [key, fork] of Object.entries(FORK_OVERRIDES)) {
    const time = values[key as keyof typeof FORK_OVERRIDES]
    if (time !== undefined) forks[fork] = time
  }
  const { overridePectrablobschedule: pectra, overrideKeepKarstUpgradeGas: keepKarstUpgradeGas } = values
  return {
    ...config,
    forks,
    ...(pectra === undefined ? {} : { pectraBlobScheduleTime: pectra }),
    ...(keepKarstUpgradeGas === undefined ? {} : { keepKarstUpgradeGas }),
  }
}

function withLagoonFiles(
  config: RollupConfig,
  { interopDependencySet: dependencySet, rollupUpgradeBundle }: ConfigValues,
): RollupConfig {
  const bundles = rollupUpgradeBundle.map((path) => readUpgradeBundleFile(path))
  const lagoon = bundles.find(({ pin }) => pin.fork === 'lagoon')
  return {
    ...config,
    ...(dependencySet === undefined ? {} : readDependencySet(dependencySet, config.l2ChainId)),
    ...(lagoon === undefined ? {} : { lagoonBundle: lagoon.deposits }),
  }
}

/**
 * Blob fee parameters of a private L1. With wrong parameters every derived block would differ. Only a chain that never
 * reaches Ecotone does not use them.
 */
function l1BlobScheduleOf(path: string | undefined, config: RollupConfig): Pick<RollupConfig, 'l1BlobSchedule'> {
  if (hasKnownBlobSchedule(config.l1ChainId)) return {}
  if (path !== undefined) return { l1BlobSchedule: readL1BlobSchedule(path, config.l1ChainId) }
  if (!isForkActive(config, 'ecotone', Number.MAX_SAFE_INTEGER)) return {}
  throw new UsageError(
    `--rollup.l1-chain-config is required: this version does not know the blob fee parameters of L1 chain ${config.l1ChainId}`,
  )
}
