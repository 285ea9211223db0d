import { fromNowText, sinceText, utcText } from '../../../lib/phrases.ts'
import { changesBlobsAt } from '../../../rollup/protocol/index.ts'
import type { BeaconFacts, DoctorFacts } from './facts.ts'
import { type Finding, findingOn, stopsAt } from './finding.ts'
import { NEWEST_L1_FORK, scheduleOf } from './schedule.ts'

/** Two epochs of Ethereum. */
const MAX_SLOTS_BEHIND = 64

const now = findingOn('beacon', 'now')
const note = findingOn('beacon', null)

/** Findings on the beacon API: reasons why the node gets no blobs now or after a fork. */
export function judgeBeacon(facts: DoctorFacts): Finding[] {
  const { beacon } = facts
  if (beacon === undefined) {
    const text = 'No beacon API is configured (--l1.beacon.ignore). The safe head stops at the first batch in a blob.'
    return [note('beacon-missing', text, 'Set --l1.beacon to the beacon API of L1.')]
  }
  if (beacon.problem !== undefined) return [unreachable(beacon)]
  const wrong = wrongChain(beacon, facts)
  const found = wrong.length > 0 ? wrong : servingFindings(beacon, facts)
  return facts.followed !== undefined ? found.map((finding) => ({ ...finding, stops: null })) : found
}

function servingFindings(beacon: BeaconFacts, facts: DoctorFacts): Finding[] {
  return [
    ...blobs(beacon, facts),
    ...slots(beacon),
    ...behind(beacon),
    ...retention(beacon, facts),
    ...blobChanges(beacon, facts),
  ]
}

function unreachable({ url, problem }: BeaconFacts): Finding {
  if (problem?.code === 'wrong-kind') {
    const text = `${url} is an execution client, not a beacon API: ${problem.text}. The safe head stops at the first batch in a blob.`
    const next = "Set --l1.beacon to the consensus client's REST address (port 5052, 3500 or 4000 by default)."
    return now('beacon-is-execution-client', text, next)
  }
  const text = `The node cannot use the beacon API at ${url}: ${problem?.text}.`
  return now('beacon-down', text, 'Start the consensus client, or set --l1.beacon to another one.')
}

function wrongChain({ url, depositChainId, genesisTime, slotLength }: BeaconFacts, facts: DoctorFacts): Finding[] {
  const { l1ChainId } = facts.chain.config
  const next = 'Set --l1.beacon to a beacon API of the same L1.'
  if (depositChainId !== undefined && depositChainId !== l1ChainId) {
    const text = `The beacon API at ${url} belongs to L1 chain ${depositChainId}, but this chain's L1 is ${l1ChainId}.`
    return [now('beacon-wrong-chain', text, next)]
  }
  const head = facts.l1.find((endpoint) => endpoint.head !== undefined)?.head
  if (head === undefined || genesisTime === undefined || typeof slotLength !== 'number') return []
  if (head.time >= genesisTime && (head.time - genesisTime) % slotLength === 0) return []
  const text = `The time of L1 block ${head.number}, ${utcText(head.time)}, matches no slot of the beacon API at ${url}, whose genesis is at ${utcText(genesisTime)}. They belong to different L1 chains.`
  return [now('beacon-wrong-chain', text, next)]
}

function blobs({ url, serves }: BeaconFacts, facts: DoctorFacts): Finding[] {
  if (serves === 'none') {
    const text = `The beacon API at ${url} serves neither blobs nor blob_sidecars. The safe head stops at the first batch in a blob.`
    const noBlobs = facts.flags.hasBeaconFallbacks ? note : now
    return [noBlobs('beacon-no-blobs', text, 'Update the consensus client, or set --l1.beacon to another one.')]
  }
  if (serves !== 'sidecars') return []
  const { time } = scheduleOf(facts).find(({ name }) => name === NEWEST_L1_FORK) ?? {}
  const when = time === undefined ? '' : ` (${utcText(time)})`
  const text = `The beacon API at ${url} serves blobs only as blob_sidecars, which consensus clients remove with ${NEWEST_L1_FORK}${when}.`
  const next = 'Update the consensus client to a release that serves eth/v1/beacon/blobs.'
  return [findingOn('beacon', null, NEWEST_L1_FORK)('beacon-old-blobs', text, next)]
}

function slots({ url, lacksSlotLength }: BeaconFacts): Finding[] {
  if (lacksSlotLength !== true) return []
  const text = `The beacon API at ${url} does not report SECONDS_PER_SLOT, so the node cannot compute the slot of a blob.`
  const next = 'Set --l1.beacon.slot-duration-override to the seconds per slot, 12 on Ethereum.'
  return [now('beacon-no-slots', text, next)]
}

function behind({ url, slotsBehind }: BeaconFacts): Finding[] {
  if (slotsBehind === undefined || slotsBehind <= MAX_SLOTS_BEHIND) return []
  const text = `The beacon API at ${url} is ${slotsBehind} slots behind, so the safe head waits for its blobs.`
  return [now('beacon-behind', text, 'Wait until the consensus client is synced. If it missed a fork, update it.')]
}

/** A note only: the batches since then may all be calldata, or the engine may sync by its own network. */
function retention({ url, retentionS }: BeaconFacts, { engine: { safe }, flags, nowS }: DoctorFacts): Finding[] {
  if (flags.hasBeaconFallbacks || retentionS === undefined || safe === undefined) return []
  if (nowS - safe.time <= retentionS) return []
  const text = `The safe head has the time ${utcText(safe.time)} (${fromNowText(safe.time, nowS)}), but the beacon API at ${url} keeps blobs only for ${sinceText(retentionS * 1000)}. Blobs with later batches may be missing.`
  return [note('blobs-expired', text, 'Set --l1.beacon-fallbacks to a blob archive.')]
}

function blobChanges({ url, blobChanges: times }: BeaconFacts, { chain: { config }, nowS }: DoctorFacts): Finding[] {
  const time = times.find((change) => !changesBlobsAt(config, change))
  if (time === undefined) return []
  const text = `The beacon API at ${url} schedules new blob parameters for ${utcText(time)}, which this node does not know. From then on it derives blocks that differ from the chain.`
  const next = 'Install a newer devium release, or set --rollup.l1-chain-config to the newest config of this L1.'
  return [findingOn('version', stopsAt(time, nowS))('l1-blob-parameters', text, next)]
}
