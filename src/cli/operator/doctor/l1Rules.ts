import { fromNowText, utcText } from '../../../lib/phrases.ts'
import { blobUpdateFraction, changesBlobsAt, type RollupConfig } from '../../../rollup/protocol/index.ts'
import type { AnnouncedFork, DoctorFacts, L1Facts } from './facts.ts'
import { type Finding, findingOn, stopsAt } from './finding.ts'
import { NEWEST_L1_FORK, type ScheduledFork, scheduleOf } from './schedule.ts'

/** 25 slots of Ethereum: no public L1 has produced no block for so long. */
const OLD_HEAD_S = 300

const now = findingOn('L1', 'now')
const note = findingOn('L1', null)

/** Findings on the L1 endpoints, and on forks of L1 that this version cannot follow. */
export function judgeL1(facts: DoctorFacts): Finding[] {
  const forks = scheduleOf(facts).filter(({ layer }) => layer === 'L1')
  return [
    ...forks.flatMap((fork) => unknownFork(fork, facts.nowS)),
    ...facts.l1.flatMap((endpoint, index) => {
      const found = endpointFindings(endpoint, facts, forks)
      // The node continues with the other endpoints.
      return facts.l1.length === 1 ? found : found.map((one) => spared(one, facts.l1, index))
    }),
  ]
}

function spared(finding: Finding, l1: readonly L1Facts[], index: number): Finding {
  const hasOther = l1.some(
    (other, at) => at !== index && other.problem === undefined && other.headProblem === undefined,
  )
  return hasOther && ['l1-down', 'l1-behind', 'l1-bad-answer'].includes(finding.code)
    ? { ...finding, stops: null }
    : finding
}

function unknownFork({ name, time, isKnown }: ScheduledFork, nowS: number): Finding[] {
  if (isKnown || time === undefined) return []
  const text = `L1 schedules the fork ${name} for ${utcText(time)} (${fromNowText(time, nowS)}), which this version does not know. The safe head stops there if L1's headers or blob parameters change.`
  const next = `Install a devium release that knows ${name} before that time.`
  return [findingOn('version', stopsAt(time, nowS), name)('l1-fork-unknown', text, next)]
}

function endpointFindings(endpoint: L1Facts, facts: DoctorFacts, forks: readonly ScheduledFork[]): Finding[] {
  const { url, problem, chainId, genesisHash, headProblem } = endpoint
  const { config } = facts.chain
  const next = 'Set --l1 to an endpoint of the right L1.'
  if (problem !== undefined) {
    const text = `The node cannot use the L1 endpoint ${url}: ${problem.text}.`
    return [now('l1-down', text, 'Start the L1 node, or set --l1 to another endpoint.')]
  }
  if (chainId !== undefined && chainId !== config.l1ChainId) {
    const text = `The L1 endpoint ${url} belongs to chain ${chainId}, but this chain's L1 is ${config.l1ChainId}.`
    return [now('l1-wrong-chain', text, next)]
  }
  if (genesisHash !== undefined && genesisHash !== null && genesisHash !== config.genesis.l1.hash) {
    const text = `The L1 endpoint ${url} has another block ${config.genesis.l1.number} than the rollup config, which starts the rollup at that block.`
    return [now('l1-wrong-genesis', text, next)]
  }
  // A node that trusts L1 ignores header fields that it does not know.
  const stops = facts.flags.trustsL1 ? null : 'now'
  if (headProblem?.code === 'unknown-fork') {
    const found = findingOn('version', stops)
    return [found('l1-unknown-fork', `${headProblem.text}.`, 'Install a newer devium release.')]
  }
  if (headProblem !== undefined) {
    const text = `The node cannot use the head of the L1 endpoint ${url}: ${headProblem.text}.`
    return [findingOn('L1', stops)('l1-bad-answer', text, 'Set --l1 to another L1 endpoint.')]
  }
  const blobs = blobFindings(endpoint, config, facts.nowS)
  const unnamed = blobs.length > 0 ? [] : unnamedFork(endpoint, config, forks, facts.nowS)
  return [...headFindings(endpoint, facts, forks), ...blobs, ...unnamed]
}

function headFindings({ url, head }: L1Facts, { nowS }: DoctorFacts, forks: readonly ScheduledFork[]): Finding[] {
  if (head === undefined) return []
  const findings: Finding[] = []
  const glamsterdam = forks.find(({ name }) => name === NEWEST_L1_FORK)
  if (glamsterdam?.time !== undefined && head.time >= glamsterdam.time && !head.isGlamsterdam) {
    const text = `The L1 endpoint ${url} missed the fork ${NEWEST_L1_FORK} (${utcText(glamsterdam.time)}) and follows another chain.`
    const next = 'Update the L1 execution client, or set --l1 to another endpoint.'
    findings.push(findingOn('L1', 'now', NEWEST_L1_FORK)('l1-missed-fork', text, next))
  }
  if (nowS - head.time >= OLD_HEAD_S) {
    const text = `The head of the L1 endpoint ${url} is block ${head.number}, ${fromNowText(head.time, nowS)}, so the safe head waits for L1.`
    findings.push(now('l1-behind', text, 'Check whether the L1 node is syncing, or set --l1 to another endpoint.'))
  }
  return findings
}

function unnamedFork(
  { url, next }: L1Facts,
  config: RollupConfig,
  forks: readonly ScheduledFork[],
  nowS: number,
): Finding[] {
  if (next === undefined || next.time <= nowS) return []
  const isKnown = forks.some(({ time }) => time === next.time) || changesBlobsAt(config, next.time)
  if (isKnown) return []
  const text = `The L1 endpoint ${url} announces a fork for ${utcText(next.time)} (${fromNowText(next.time, nowS)}) without its name. This version knows L1 forks up to ${NEWEST_L1_FORK}.`
  return [note('l1-next-fork', text, 'If this is a later fork, install a newer devium release.')]
}

/** Wrong blob fee parameters change every L2 block. */
function blobFindings({ url, current, next }: L1Facts, config: RollupConfig, nowS: number): Finding[] {
  return [current, next].flatMap((fork): Finding[] => {
    const announced = fork === undefined ? undefined : differing(fork, config, nowS)
    if (announced === undefined) return []
    const { time, ours, theirs } = announced
    const text = `The L1 endpoint ${url} has the blob fee update fraction ${theirs} from ${utcText(time)} on, but this node uses ${ours}. From then on it derives blocks that differ from the chain.`
    const next =
      config.l1BlobSchedule === undefined
        ? 'Install a newer devium release before that time.'
        : 'Set --rollup.l1-chain-config to the newest config of this L1.'
    return [findingOn('version', stopsAt(time, nowS))('l1-blob-parameters', text, next)]
  })
}

function differing({ time, updateFraction: theirs }: AnnouncedFork, config: RollupConfig, nowS: number) {
  if (theirs === undefined) return undefined
  // A chain may have adopted Pectra's parameters later than L1. That time has passed, so only times from now on are
  // compared.
  const ours = blobUpdateFraction(config, Math.max(time, nowS))
  return ours === theirs ? undefined : { time, ours, theirs }
}
