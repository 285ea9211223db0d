import { sinceText } from '../lib/phrases.ts'
import type { DerivationStatus } from '../rollup/node/api.ts'
import { l1RefToJson, l2RefToJson } from './json.ts'

/** The missing blocks below the blocks that gossip delivered, and how they are fetched. */
function gapToJson({ unsafeGap, nowMs }: Pick<DerivationStatus, 'unsafeGap' | 'nowMs'>) {
  if (unsafeGap === undefined) return null
  const { first, last, sinceMs, asks } = unsafeGap
  const blocks = first === last ? `L2 block ${first} has` : `L2 blocks ${first} to ${last} have`
  const missing = `${blocks} been missing for ${sinceText(nowMs - sinceMs)}.`
  const how =
    asks === 'peers'
      ? 'The node requests missing blocks from peers by number.'
      : 'No connected peer serves blocks by number. The execution client fetches missing blocks by its own network.'
  return { first, last, sinceMs, asks, text: `${missing} ${how} Otherwise derivation gets them from L1.` }
}

/** The active fork, and the next fork with this node's readiness. */
function forksToJson({ forks: { active, next } }: Pick<DerivationStatus, 'forks'>) {
  if (next === undefined) return { active, next: null }
  const { name, time, isReady, problem } = next
  return { active, next: { name, time, ready: isReady ?? null, problem: problem === undefined ? null : `${problem}.` } }
}

/** The result of devium_derivationStatus. Unknown values are null, times are Unix milliseconds. */
export function derivationStatusToJson(status: DerivationStatus) {
  const { record, blobs, l1Head, currentL1, safe, unsafe } = status
  return {
    state: status.state,
    ok: status.ok,
    text: status.text,
    command: status.command ?? null,
    l1: {
      head: l1Head === undefined ? null : l1RefToJson(l1Head),
      headSeenAtMs: status.l1HeadAtMs ?? null,
      derivedTo: currentL1 === undefined ? null : l1RefToJson(currentL1),
      confirmations: status.confirmations,
      endpoint: endpointToJson(status.l1Endpoint),
    },
    l2: {
      safe: safe === undefined ? null : l2RefToJson(safe),
      safeMovedAtMs: status.safeMovedAtMs ?? null,
      unsafe: unsafe === undefined ? null : l2RefToJson(unsafe),
      windowEndsAtL1Block: status.windowEndsAt ?? null,
    },
    forks: forksToJson(status),
    gap: gapToJson(status),
    engine: { isSyncing: status.engineIsSyncing, endpoint: endpointToJson(status.engineEndpoint) },
    follows: status.follows ?? null,
    blobs: blobs === undefined ? null : { ...blobs, slot: blobs.slot ?? null },
    channels: record.channels.map((channel) => ({
      ...channel,
      expectedFrames: channel.expectedFrames ?? null,
      l1BlocksLeft: currentL1 === undefined ? null : Math.max(0, channel.lastBlock - currentL1.number),
    })),
    lastBatch: record.lastBatch ?? null,
    droppedBatches: record.droppedBatches,
    lostData: record.lostData,
    emptyBatches: record.emptyBatches ?? null,
    failure: record.failure ?? null,
    reset: record.lastReset === undefined ? null : { ...record.lastReset, doneAtMs: record.lastReset.doneAtMs ?? null },
  }
}

function endpointToJson(endpoint: DerivationStatus['l1Endpoint']) {
  if (endpoint === undefined) return null
  const { answeredAtMs, silentSinceMs, ...rest } = endpoint
  return { ...rest, answeredAtMs: answeredAtMs ?? null, silentSinceMs: silentSinceMs ?? null }
}
