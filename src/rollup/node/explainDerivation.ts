import type { EndpointState } from '../../jsonRpc/endpointWatch.ts'
import { blockPhrase, countOf, listOf, sinceText, utcText } from '../../lib/phrases.ts'
import { shortHash } from '../../lib/shortIds.ts'
import type { ChannelSnapshot } from '../derive/index.ts'
import { isForkActivationBlock, MISSING_BUNDLE_TEXT, unknownForkAt } from '../protocol/index.ts'
import type { DerivationFacts, DerivationState } from './derivationStates.ts'

/** After this time without a batch, there is probably no batcher. */
const NO_BATCHES_MS = 600_000
/** After this time without an answer, an endpoint counts as down. A single call may get lost. */
const SILENT_MS = 5_000
/** A request for blobs ends after 20 s and then has a reason. Verification takes additional time. */
const BLOBS_UNDER_WAY_MS = 30_000
/** Number of L1 blocks behind the last readable block from which derivation counts as catching up. */
const BEHIND_L1_BLOCKS = 3
/** The remaining part of the sequencing window at which the warning begins. */
const WINDOW_ENDS_SOON = 0.1

interface Explanation {
  state: DerivationState
  text: string
  /** The command that fixes the problem, if known. */
  command?: string
}

/**
 * Explains the position of the safe head. Each rule checks for one reason, and the first that applies decides. Rules
 * for causes come before rules for their consequences.
 */
export function explainDerivation(facts: DerivationFacts): Explanation {
  for (const rule of RULES) {
    const found = rule(facts)
    if (found !== undefined) return found
  }
  const { safe } = facts
  return {
    state: 'up-to-date',
    text: `All known blocks are safe. The safe head is ${safe === undefined ? 'not known yet' : blockPhrase(safe)}.`,
  }
}

type Rule = (facts: DerivationFacts) => Explanation | undefined

const l1Down: Rule = ({ l1Endpoint, l1Head, nowMs }) => {
  const silence = silenceOf(l1Endpoint, nowMs)
  if (silence === undefined) return undefined
  const known = l1Head === undefined ? 'No L1 block is known' : `The last known L1 block is ${l1Head.number}`
  return {
    state: 'l1-down',
    text: `The safe head is waiting for L1: ${silence}. ${known}.`,
  }
}

const l1Unreadable: Rule = ({ l1HeadProblem, nowMs }) => {
  if (l1HeadProblem === undefined || nowMs - l1HeadProblem.sinceMs < SILENT_MS) return undefined
  const { message, sinceMs } = l1HeadProblem
  return {
    state: 'l1-unreadable',
    text: `The safe head is waiting for L1. The L1 head has been unreadable for ${sinceText(nowMs - sinceMs)}: ${message}.`,
  }
}

const blobsMissing: Rule = ({ blobs, nowMs }) => {
  if (blobs === undefined) return undefined
  const { l1Block, versionedHashes, answers } = blobs
  // No endpoint has failed yet: the request or the verification is running, as for every block with blobs.
  const isUnderWay = answers.length === 0
  if (isUnderWay && nowMs - blobs.sinceMs < BLOBS_UNDER_WAY_MS) return undefined
  const from = listOf(answers.map(({ url, problem }) => `${url} (${problem})`))
  const wanted = `The safe head is waiting for ${countOf(versionedHashes.length, 'blob')} of L1 block ${l1Block.number}`
  const since = sinceText(nowMs - blobs.sinceMs)
  return {
    state: 'waiting-for-blobs',
    text: isUnderWay
      ? `${wanted}. The request has been running for ${since}.`
      : `${wanted}, which ${from} ${answers.length === 1 ? 'has' : 'have'} not returned for ${since}.`,
  }
}

const engineDown: Rule = ({ engineEndpoint, nowMs }) => {
  const silence = silenceOf(engineEndpoint, nowMs)
  if (silence === undefined) return undefined
  return { state: 'engine-down', text: `The safe head is waiting for the execution client: ${silence}.` }
}

const engineSyncing: Rule = ({ engineIsSyncing, record: { failure, startedAtMs }, unsafe, nowMs }) => {
  if (engineIsSyncing) {
    const head = unsafe === undefined ? '' : `, so far to block ${unsafe.number}`
    return {
      state: 'engine-syncing',
      text: `Derivation starts after the execution client has synced. It has been syncing over its own network for ${sinceText(nowMs - startedAtMs)}${head}.`,
    }
  }
  if (failure?.code !== 'engine-syncing') return undefined
  return {
    state: 'engine-syncing',
    text: `The safe head is waiting for the execution client, which has been syncing for ${sinceText(nowMs - failure.sinceMs)}: ${failure.message}.`,
  }
}

const searching: Rule = ({ record: { lastReset, failure }, currentL1, follows, nowMs }) => {
  if (currentL1 !== undefined) return undefined
  // The heads are known, but the followed node does not answer or reports a reset.
  if (follows !== undefined && lastReset?.doneAtMs !== undefined) return undefined
  const because = failure === undefined ? '' : ` The last try failed: ${failure.message}.`
  if (lastReset === undefined || lastReset.reason === STARTING) {
    return { state: 'starting', text: `The node is looking for the heads to start from.${because}` }
  }
  const since = sinceText(nowMs - lastReset.atMs)
  return {
    state: 'resetting',
    text: `Derivation has been resetting for ${since}, because ${lastReset.reason}.${because}`,
  }
}

const forkUnknown: Rule = ({ safe, follows, config }) => {
  if (safe === undefined || follows !== undefined) return undefined
  const fork = unknownForkAt(config, safe.timestamp + config.blockTime)
  if (fork === undefined) return undefined
  return {
    state: 'fork-unknown',
    text: `The safe head stays at ${blockPhrase(safe)}: the next block belongs to the fork ${fork.name} (${utcText(fork.time)}), which this version does not know.`,
  }
}

const bundleMissing: Rule = ({ safe, follows, config }) => {
  if (safe === undefined || follows !== undefined) return undefined
  const isNext = isForkActivationBlock(config, 'lagoon', safe.timestamp + config.blockTime)
  if (!isNext || config.lagoonBundle !== undefined) return undefined
  return {
    state: 'upgrade-bundle-missing',
    text: `The safe head stays at ${blockPhrase(safe)}: ${MISSING_BUNDLE_TEXT}.`,
  }
}

const failing: Rule = ({ record: { failure }, follows, nowMs }) => {
  if (failure === undefined) return undefined
  if (follows !== undefined) {
    return {
      state: 'failing',
      text: `The node has not been able to follow ${follows} for ${sinceText(nowMs - failure.sinceMs)}: ${failure.message}.`,
    }
  }
  const times =
    failure.count === 1 ? 'failed' : `has failed ${failure.count} times in ${sinceText(nowMs - failure.sinceMs)}`
  return {
    state: 'failing',
    text: `The safe head does not move because a derivation step ${times}: ${failure.message}.`,
  }
}

const following: Rule = ({ follows, currentL1, safe }) => {
  if (follows === undefined) return undefined
  const head = safe === undefined ? 'not known yet' : blockPhrase(safe)
  const derived = currentL1 === undefined ? '' : `, derived there up to L1 block ${currentL1.number}`
  return {
    state: 'following',
    text: `This node follows ${follows} and derives nothing. The safe head is ${head}${derived}.`,
  }
}

const catchingUp: Rule = ({ l1Head, currentL1, confirmations, record, safe }) => {
  if (l1Head === undefined || currentL1 === undefined || record.isIdle) return undefined
  const readable = l1Head.number - confirmations
  const behind = readable - currentL1.number
  if (behind < BEHIND_L1_BLOCKS) return undefined
  const head = safe === undefined ? '' : ` The safe head is ${blockPhrase(safe)}.`
  return {
    state: 'catching-up',
    text: `Derivation is catching up. It reads L1 block ${currentL1.number} of ${readable}, ${behind} blocks behind.${head}`,
  }
}

const windowExpired: Rule = ({ record: { emptyBatches, lastBatch }, nowMs }) => {
  if (emptyBatches === undefined || (lastBatch !== undefined && lastBatch.atMs >= emptyBatches.lastAtMs))
    return undefined
  const last =
    lastBatch === undefined ? 'No batch has arrived since this node started' : lastBatchPhrase(lastBatch, nowMs)
  return {
    state: 'window-expired',
    text: `The sequencing window has passed without a batch, so derivation creates empty blocks: ${emptyBatches.count} so far, the last at L1 block ${emptyBatches.l1Block}. ${last}.`,
  }
}

const batchesDropped: Rule = ({ record: { droppedBatches, lastBatch }, safeMovedAtMs, safe, unsafe }) => {
  const dropped = droppedBatches.at(-1)
  if (dropped === undefined || !isBehind(safe, unsafe)) return undefined
  // A later batch moved the safe head, so the chain continues without the dropped batch.
  if (safeMovedAtMs !== undefined && safeMovedAtMs > dropped.atMs) return undefined
  if (lastBatch !== undefined && lastBatch.l1Block > dropped.l1Block) return undefined
  const rest = dropped.losesChannel ? ' with the rest of its channel' : ''
  return {
    state: 'batches-dropped',
    text: `The safe head does not move because the last ${dropped.type} batch, read at L1 block ${dropped.l1Block}, was dropped${rest}: ${dropped.reason}.`,
  }
}

const windowEnding: Rule = ({ safe, unsafe, currentL1, config }) => {
  if (safe === undefined || currentL1 === undefined || !isBehind(safe, unsafe)) return undefined
  const endsAt = safe.l1Origin.number + config.seqWindowSize
  const left = endsAt - currentL1.number
  if (left > config.seqWindowSize * WINDOW_ENDS_SOON) return undefined
  return {
    state: 'window-expiring',
    text: `The sequencing window of L2 block ${safe.number + 1} ends in ${countOf(Math.max(left, 0), 'L1 block')}, at block ${endsAt}. Without a batch by then, empty blocks replace the unsafe blocks.`,
  }
}

const batcherStopped: Rule = (facts) => {
  const { batcher, safe, unsafe } = facts
  if (batcher?.isStopped !== true || !isBehind(safe, unsafe)) return undefined
  return {
    state: 'batcher-stopped',
    text: `The safe head is waiting because the batch submitter is stopped. ${progressPhrase(facts)}`,
    command: batcher.startCommand,
  }
}

const channelOpen: Rule = ({ record: { channels }, currentL1, nowMs, record, safe, unsafe }) => {
  const [channel, ...others] = channels
  if (channel === undefined || currentL1 === undefined || !isBehind(safe, unsafe)) return undefined
  const left = channel.lastBlock - currentL1.number
  const more = others.length === 0 ? '' : ` (and ${countOf(others.length, 'other channel')})`
  const batch = record.lastBatch === undefined ? '' : ` ${lastBatchPhrase(record.lastBatch, nowMs)}.`
  return {
    state: 'waiting-for-channel',
    text: `The safe head is waiting for the rest of channel ${shortHash(channel.id)}${more}. ${framesPhrase(channel)} since L1 block ${channel.openBlock}. The channel times out in ${countOf(Math.max(left, 0), 'L1 block')}.${batch}`,
  }
}

const waitingForBatches: Rule = (facts) => {
  const { record, nowMs, safe, unsafe, currentL1 } = facts
  if (!isBehind(safe, unsafe) || currentL1 === undefined) return undefined
  const quietMs = nowMs - (record.lastBatch?.atMs ?? record.startedAtMs)
  const progress = progressPhrase(facts)
  return quietMs < NO_BATCHES_MS
    ? { state: 'waiting-for-batches', text: `The safe head is waiting for the next batch. ${progress}` }
    : { state: 'no-batches', text: `No batch has arrived for ${sinceText(quietMs)}. ${progress}` }
}

/** The reason of the reset that every start begins with. */
export const STARTING = 'the node starts'

const RULES: readonly Rule[] = [
  l1Down,
  l1Unreadable,
  blobsMissing,
  engineDown,
  engineSyncing,
  searching,
  forkUnknown,
  bundleMissing,
  failing,
  following,
  catchingUp,
  windowExpired,
  batchesDropped,
  windowEnding,
  batcherStopped,
  channelOpen,
  waitingForBatches,
]

/** Undefined if the endpoint answers, or has been silent only for a moment. */
function silenceOf(endpoint: EndpointState | undefined, nowMs: number): string | undefined {
  const since = endpoint?.silentSinceMs
  if (endpoint === undefined || since === undefined || nowMs - since < SILENT_MS) return undefined
  return `${endpoint.url} has answered no call for ${sinceText(nowMs - since)}`
}

function isBehind(safe: { number: number } | undefined, unsafe: { number: number } | undefined): boolean {
  return safe !== undefined && unsafe !== undefined && safe.number < unsafe.number
}

function lastBatchPhrase({ l1Block, atMs }: { l1Block: number; atMs: number }, nowMs: number): string {
  return `The last batch arrived ${sinceText(nowMs - atMs)} ago with L1 block ${l1Block}`
}

/** Three sentences: the read L1 blocks, the last batch, and the unsafe blocks. */
function progressPhrase(facts: DerivationFacts): string {
  const { record, nowMs, safe, unsafe, currentL1, l1Head, confirmations } = facts
  const { lastBatch, startedAtMs } = record
  const left = (unsafe?.number ?? 0) - (safe?.number ?? 0)
  const last =
    lastBatch === undefined
      ? `No batch has arrived since this node started ${sinceText(nowMs - startedAtMs)} ago.`
      : `${lastBatchPhrase(lastBatch, nowMs)}.`
  const confirming =
    confirmations === 0
      ? ''
      : ` of ${l1Head?.number ?? 'an unknown head'} and waits for ${countOf(confirmations, 'confirmation')}`
  const read = `Derivation has read L1 up to block ${currentL1?.number ?? 'not known'}${confirming}.`
  return `${read} ${last} ${countOf(left, 'block')} ${left === 1 ? 'is' : 'are'} not safe yet.`
}

function framesPhrase({ frames, bytes, expectedFrames }: ChannelSnapshot): string {
  const of = expectedFrames === undefined ? '' : ` of ${expectedFrames}`
  return `${frames}${of} ${frames === 1 && expectedFrames === undefined ? 'frame has' : 'frames have'} arrived (${bytes} bytes)`
}
