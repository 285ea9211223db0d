import { systemClock, unixSeconds } from '../../../lib/clock.ts'
import { type Logger, silentLogger } from '../../../lib/logger.ts'
import { beaconOptionsFromFlags } from '../../node/l1Beacon.ts'
import { checkRollupNodeFlags } from '../../node/rollupNodeConfig.ts'
import { FORK_OVERRIDES } from '../../node/rollupNodeFlags.ts'
import type { FlagValues } from '../../shared/flags.ts'
import { terminalWidth } from '../../shared/table.ts'
import { printLines } from '../../shared/terminal/printLines.ts'
import { VERSION } from '../../shared/version.ts'
import { printJson } from '../printJson.ts'
import { NOT_HEALTHY_EXIT_CODE } from '../status/verdictView.ts'
import type { doctorFlags } from './doctorFlags.ts'
import { diagnosisJson, diagnosisLines } from './doctorView.ts'
import type { DoctorFacts, FlagFacts } from './facts.ts'
import { gatherBeacon } from './gatherBeacon.ts'
import { gatherChain } from './gatherChain.ts'
import { gatherEngine } from './gatherEngine.ts'
import { gatherFollowed } from './gatherFollowed.ts'
import { gatherL1 } from './gatherL1.ts'
import { diagnose } from './judge.ts'

type Values = FlagValues<typeof doctorFlags>

/** Limit of a call of the engine, even if the node's own limit is longer. */
const MAX_ENGINE_TIMEOUT_MS = 10_000

/** Gathers facts, judges them, prints the result and sets the exit code. Throws UsageError for flags that the node refuses. */
export async function runDoctor(values: Values, warnings: readonly string[]): Promise<void> {
  const facts = await gatherFacts(values, warnings, unixSeconds(systemClock))
  const diagnosis = diagnose(facts)
  if (values.json) printJson(diagnosisJson(diagnosis, facts))
  else printLines(diagnosisLines(diagnosis, facts, terminalWidth()))
  if (!diagnosis.ok) process.exitCode = NOT_HEALTHY_EXIT_CODE
}

async function gatherFacts(values: Values, warnings: readonly string[], nowS: number): Promise<DoctorFacts> {
  const { l2, jwtPath } = checkRollupNodeFlags(values)
  const configWarnings: string[] = []
  const chain = await gatherChain(values, collectingLogger(configWarnings))
  const { config } = chain
  const beaconOptions = beaconOptionsFromFlags(values, config)
  const timeoutMs = Math.min(values.l2EngineRpcTimeout, MAX_ENGINE_TIMEOUT_MS)
  const l1 = Promise.all(values.l1.map((url) => gatherL1(url, config)))
  const headBlock = l1.then((all) => all.find(({ head }) => head !== undefined)?.head?.number)
  const { l2FollowSource } = values
  const [engine, beacon, followed] = await Promise.all([
    gatherEngine({ l2, jwtPath, timeoutMs }, config, nowS),
    beaconOptions === undefined ? undefined : gatherBeacon(beaconOptions, headBlock),
    l2FollowSource === undefined ? undefined : gatherFollowed(l2FollowSource, values.l2FollowSourceRpcTimeout),
  ])
  const flags = { ...flagFacts(values), warnings, configWarnings }
  return { nowS, version: VERSION, chain, flags, l1: await l1, engine, beacon, followed }
}

function flagFacts(values: Values): Omit<FlagFacts, 'warnings' | 'configWarnings'> {
  const keys = Object.keys(FORK_OVERRIDES) as (keyof typeof FORK_OVERRIDES)[]
  return {
    trustsL1: values.l1Trustrpc,
    overridden: keys.filter((key) => values[key] !== undefined).map((key) => FORK_OVERRIDES[key]),
    hasBeaconFallbacks: values.l1BeaconFallbacks.length + values.l1BeaconArchiver.length > 0,
  }
}

/** Collects the warnings that the config parser logs. */
function collectingLogger(lines: string[]): Logger {
  const add = (message: string) => void lines.push(message)
  return { ...silentLogger, warn: add, error: add }
}
