import { fromNowText, utcText } from '../../../lib/phrases.ts'
import { FORKS, type Fork } from '../../../rollup/protocol/index.ts'
import { callsFollowTime, clientOf, judgeRelease } from './clients.ts'
import type { ChainFacts, EngineFacts } from './facts.ts'
import { type Finding, findingOn, stopsAt } from './finding.ts'
import { forksToCheck } from './schedule.ts'

/** Methods of the Engine API that the node calls from a fork on, until a later fork replaces them (specs: exec-engine). */
const METHODS: Partial<Record<Fork, readonly string[]>> = {
  canyon: ['engine_forkchoiceUpdatedV2', 'engine_newPayloadV2', 'engine_getPayloadV2'],
  ecotone: ['engine_forkchoiceUpdatedV3', 'engine_newPayloadV3', 'engine_getPayloadV3'],
  isthmus: ['engine_forkchoiceUpdatedV3', 'engine_newPayloadV4', 'engine_getPayloadV4'],
  karst: ['engine_forkchoiceUpdatedV3', 'engine_newPayloadV4', 'engine_getPayloadV5'],
}
/** An engine with an older head is probably not synced. */
const OLD_HEAD_S = 300

const now = findingOn('engine', 'now')

/** The facts for judging an engine. */
interface EngineCase {
  engine: EngineFacts
  chain: Pick<ChainFacts, 'config'>
  nowS: number
}

export function judgeEngine(facts: EngineCase): Finding[] {
  const { engine } = facts
  if (engine.problem !== undefined) return [unreachable(engine)]
  const identity = wrongChain(facts)
  // If the engine belongs to another chain, other findings are useless.
  if (identity.length > 0) return identity
  const forks = forksToCheck(facts.chain.config.forks, facts.nowS)
  return [...forks.flatMap(({ fork, time }) => forkFinding(facts, fork, time)), ...behind(facts)]
}

/** Whether the engine is ready for a fork. Undefined: the facts do not show it. */
export function isEngineReady(facts: EngineCase, fork: Fork, time: number): boolean | undefined {
  if (facts.engine.problem !== undefined || wrongChain(facts).length > 0) return undefined
  return verdictOn(facts, fork, time).isReady
}

function unreachable({ url, problem }: EngineFacts): Finding {
  const text = problem?.text ?? ''
  switch (problem?.code) {
    case 'unauthorized':
      return now(
        'engine-jwt',
        `The engine at ${url} refuses the JWT secret: ${text}.`,
        'Use the same file for the engine (--authrpc.jwtsecret) and the node (--l2.jwt-secret). Compare the clocks of both machines.',
      )
    case 'no-secret':
      return now('jwt-missing', `${text}.`, "Set --l2.jwt-secret to the engine's file.")
    case 'wrong-kind':
      return now(
        'no-engine-api',
        `${url} is not an Engine API: ${text}.`,
        "Set --l2 to the engine's authenticated port (--authrpc.port, 8551 by default).",
      )
    default:
      return now(
        'engine-down',
        `The node cannot use the engine at ${url}: ${text}.`,
        'Start the execution client, or set --l2 to its authenticated port.',
      )
  }
}

function wrongChain({ engine, chain: { config } }: EngineCase): Finding[] {
  const { url, chainId, genesisHash } = engine
  if (chainId !== undefined && chainId !== config.l2ChainId) {
    const text = `The engine at ${url} runs chain ${chainId}, but the node is configured for chain ${config.l2ChainId}.`
    return [now('engine-wrong-chain', text, 'Set --l2 to an engine of this chain.')]
  }
  if (genesisHash === undefined || genesisHash === null || genesisHash === config.genesis.l2.hash) return []
  const text = `The engine at ${url} has another genesis block: ${genesisHash}, expected ${config.genesis.l2.hash}.`
  return [now('engine-wrong-genesis', text, "Initialise the engine with this chain's genesis.json.")]
}

/** `Geth/v1.101603.5` of a version text that continues with the platform. */
function nameOf({ client, url }: EngineFacts): string {
  return client === undefined ? `at ${url}` : client.split('/', 2).join('/')
}

interface Verdict {
  isReady: boolean | undefined
  code?: string
  /** Completes a sentence; has no full stop. */
  why?: string
  next?: string
}

/** Checks the strongest evidence first: the executed rules, then the release, then the listed methods. */
function verdictOn({ engine, chain }: EngineCase, fork: Fork, time: number): Verdict {
  const { head, runs: seen } = engine
  const { [fork]: runs } = seen
  const isPast = head !== undefined && head.time >= time && head.number > chain.config.genesis.l2.number
  // The engine has executed blocks under the rules of the fork.
  if (isPast && runs !== false) return { isReady: true }
  const client = clientOf(engine.client ?? '')
  const release = judgeRelease(client, fork)
  if (release !== undefined && 'why' in release && runs !== true) {
    const next =
      client.family === 'geth'
        ? 'Switch to op-reth (2.3.2 or newer) or devium-geth before that time.'
        : 'Install a newer op-reth before that time.'
    return { isReady: false, code: 'engine-too-old', why: release.why, next }
  }
  if (runs === false && (isPast || callsFollowTime(client))) {
    return {
      ...{ isReady: false, code: 'engine-lacks-fork' },
      why: 'it does not apply the rules of the fork to calls at that time',
      next: `Set ${fork}Time to ${time} in the genesis.json of the execution client (devium-geth init --datadir DIR genesis.json, then a restart), or install a newer release.`,
    }
  }
  const knows = release !== undefined && 'knows' in release
  const missing = missingMethods(engine, fork)
  if (missing.length > 0) {
    // Method lists are maintained by hand, so a release that supports the fork may have omitted a method.
    if (knows) return { isReady: undefined }
    return {
      ...{ isReady: false, code: 'engine-lacks-method', why: `it lacks ${missing.join(', ')}` },
      next: `Install a release of the execution client that supports ${fork}.`,
    }
  }
  return runs === true || knows ? { isReady: true } : { isReady: undefined }
}

function forkFinding(facts: EngineCase, fork: Fork, time: number): Finding[] {
  const { isReady, code, why, next } = verdictOn(facts, fork, time)
  const name = nameOf(facts.engine)
  if (isReady === true) return []
  if (isReady === false) {
    const stops = stopsAt(time, facts.nowS)
    const when = `${fork} (${utcText(time)}, ${fromNowText(time, facts.nowS)})`
    const text = `The engine ${name} is not ready for ${when}: ${why}.`
    return [findingOn('engine', stops, fork)(code ?? '', text, next ?? '')]
  }
  // For an active fork, the chain itself shows whether the engine supports it.
  if (time <= facts.nowS) return []
  const text = `It is unknown whether the engine ${name} supports ${fork}.`
  return [
    findingOn('engine', null, fork)(
      'engine-unsure',
      text,
      `Check the release notes of the execution client for ${fork}.`,
    ),
  ]
}

function missingMethods({ methods }: EngineFacts, fork: Fork): string[] {
  // A list without any engine_newPayload method is incomplete and proves nothing.
  if (methods?.some((method) => method.startsWith('engine_newPayload')) !== true) return []
  const last = FORKS.slice(0, FORKS.indexOf(fork) + 1).findLast((name) => METHODS[name] !== undefined)
  return last === undefined ? [] : (METHODS[last] ?? []).filter((method) => !methods.includes(method))
}

function behind({ engine, nowS }: EngineCase): Finding[] {
  const { head, isSyncing } = engine
  if (head === undefined || (nowS - head.time < OLD_HEAD_S && isSyncing !== true)) return []
  const text = `The engine ${nameOf(engine)} ${isSyncing === true ? 'is syncing' : 'is behind'}: its head is block ${head.number}, ${fromNowText(head.time, nowS)}.`
  return [findingOn('engine', null)('engine-behind', text, 'Wait until the engine is synced. Progress: devium status')]
}
