import { fromNowText, utcText } from '../../../lib/phrases.ts'
import { REGISTRY_COMMIT, REGISTRY_UPDATE } from '../../../rollup/networks/index.ts'
import { missingBundleText, unknownForkText } from '../../../rollup/node/index.ts'
import { bundleNeededAt, FORKS, type Fork, MISSING_BUNDLE_TEXT, unknownForks } from '../../../rollup/protocol/index.ts'
import type { ChainFacts, DoctorFacts, FlagFacts } from './facts.ts'
import { type Finding, findingOn, stopsAt } from './finding.ts'

/** Fork times of an older registry may lack a fork that was scheduled since. */
const OLD_REGISTRY_S = 90 * 86_400

/** Findings on this version, its registry and the flags. */
export function judgeChain(facts: DoctorFacts): Finding[] {
  const { chain, flags, nowS } = facts
  return [
    ...refusal(chain),
    ...unknown(chain, nowS),
    ...missingBundle(facts),
    ...overrides(chain, flags, nowS),
    ...fileAgainstRegistry(chain, flags, nowS),
    ...registryAge(chain, nowS),
    ...commandLine(flags),
  ]
}

function refusal({ refusal: found }: ChainFacts): Finding[] {
  if (found === undefined) return []
  const next = 'Fix this problem first: devium--batcher exits with this error at its start.'
  const text = `The node does not start: ${found.text}.`
  return [findingOn('version', 'now', found.fork)('chain-refused', text, next)]
}

function unknown({ config }: ChainFacts, nowS: number): Finding[] {
  return unknownForks(config).map((fork) => {
    const next = `Install a devium release that knows ${fork.name}. If ${fork.name}_time is misspelt, correct the rollup config.`
    const found = findingOn('version', stopsAt(fork.time, nowS), fork.name)
    return found('fork-unknown', `${unknownForkText(fork, nowS)}.`, next)
  })
}

/**
 * A start derives from the finalized block on. It therefore repeats Lagoon's activation block if that block is not
 * finalized. A node that follows another node derives nothing. The files of a refused chain were not read.
 */
function missingBundle({ chain, followed, engine: { safe, finalized }, nowS }: DoctorFacts): Finding[] {
  const time = bundleNeededAt(chain.config)
  if (time === undefined || chain.refusal !== undefined || followed !== undefined) return []
  const isPast = time <= nowS && (finalized === undefined || finalized.time >= time)
  if (isPast) return []
  const isSafe = safe !== undefined && safe.time >= time
  const text = isSafe
    ? `A start goes back to the finalized block, which is before Lagoon: ${MISSING_BUNDLE_TEXT}`
    : missingBundleText(time, nowS)
  const next = 'Check the file with `devium bundle check FILE`, and start the node with --rollup.upgrade-bundle=FILE.'
  return [findingOn('version', stopsAt(time, nowS), 'lagoon')('upgrade-bundle-missing', `${text}.`, next)]
}

/** Fork times that differ from those of other nodes split the chain at the earlier time. Undefined: they do not differ. */
function difference(
  fork: Fork,
  own: number | undefined,
  other: number | undefined,
  { config }: ChainFacts,
  nowS: number,
) {
  const { l2Time } = config.genesis
  const [first = Number.POSITIVE_INFINITY, second = first] = [own, other].map(
    (time) => time ?? Number.POSITIVE_INFINITY,
  )
  // Both forks are active from genesis on, whatever the times.
  if (first === second || (first <= l2Time && second <= l2Time)) return undefined
  return findingOn('flags', stopsAt(Math.min(first, second), nowS), fork)
}

const timeText = (time: number | undefined) =>
  time === undefined ? 'does not schedule it' : `says ${time} (${utcText(time)})`

function overrides(chain: ChainFacts, { overridden }: FlagFacts, nowS: number): Finding[] {
  return overridden.flatMap((fork): Finding[] => {
    const own = chain.config.forks[fork]
    const isOfRegistry = chain.registry?.hasLeft === false
    const other = isOfRegistry ? chain.registry?.forks[fork] : chain.given[fork]
    const differs = difference(fork, own, other, chain, nowS)
    if (differs === undefined) return []
    const whose = isOfRegistry ? `the registry (${chain.registry?.name})` : `the ${chain.source}`
    const text = `--override.${fork} says ${own}, but ${whose} ${timeText(other)}. At the earlier time this node forks off from nodes without that flag.`
    return [differs('override-differs', text, `Remove --override.${fork}, unless every node of the chain has it.`)]
  })
}

function fileAgainstRegistry(chain: ChainFacts, { overridden }: FlagFacts, nowS: number): Finding[] {
  const { registry, isBuiltIn, given } = chain
  if (isBuiltIn || registry === undefined || registry.hasLeft) return []
  return FORKS.filter((fork) => !overridden.includes(fork)).flatMap((fork): Finding[] => {
    const other = registry.forks[fork]
    // A file may know a fork that was scheduled after the registry's date.
    if (other === undefined) return []
    const differs = difference(fork, given[fork], other, chain, nowS)
    if (differs === undefined) return []
    const text = `For ${fork}, the registry (${registry.name}) ${timeText(other)}, but the ${chain.source} ${timeText(given[fork])}. The node forks off from the chain at the earlier time.`
    return [differs('config-differs', text, `Use --network=${registry.name}, or a newer rollup config.`)]
  })
}

function registryAge({ isBuiltIn, registry }: ChainFacts, nowS: number): Finding[] {
  if (!isBuiltIn || registry === undefined) return []
  const source = `the superchain registry of ${REGISTRY_COMMIT.date}`
  const note = findingOn('version', null)
  const next = `Read the announcements of the chain. If a fork is scheduled, set --rollup.config to a newer rollup config, or set --override.<fork>.`
  if (registry.hasLeft) {
    const text = `${registry.name} has left the superchain registry. This version does not know forks that the chain scheduled after ${REGISTRY_COMMIT.date}.`
    return [note('left-registry', text, next)]
  }
  const takenS = Date.parse(REGISTRY_COMMIT.date) / 1000
  if (nowS - takenS < OLD_REGISTRY_S) return []
  const text = `The fork times come from ${source} (${fromNowText(takenS, nowS)}), updated to ${REGISTRY_UPDATE}. This version does not know forks that were scheduled later.`
  return [note('registry-old', text, next)]
}

function commandLine({ warnings, configWarnings, trustsL1 }: FlagFacts): Finding[] {
  const note = findingOn('flags', null)
  const line = (code: string, warning: string, next: string): Finding =>
    note(code, /[.?]$/.test(warning) ? warning : `${warning}.`, next)
  const lines = [
    ...warnings.map((text) => line('flag-without-effect', text, 'Remove it, or correct its name.')),
    ...configWarnings.map((text) =>
      line('config-warning', text, "Compare the rollup config with the chain's official config."),
    ),
  ]
  if (!trustsL1) return lines
  const text =
    'The node does not check hashes of L1 blocks (--l1.trustrpc). After an L1 fork that this version does not know, it would continue and might derive another chain.'
  return [...lines, note('l1-trusted', text, 'Remove --l1.trustrpc if the L1 endpoint serves eth_getProof.')]
}
