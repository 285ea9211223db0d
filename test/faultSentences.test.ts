import { expect, it } from 'vitest'
import { type Known, statusOf } from '../dashboard/statusSentence.ts'
import { type BatcherStatus, explainStatus, isHealthy } from '../src/batcher/admin/status.ts'
import { statusLines } from '../src/cli/operator/status/statusView.ts'
import { textOf } from '../src/cli/shared/terminal/styledLine.ts'
import { createEndpointWatch } from '../src/jsonRpc/endpointWatch.ts'
import { ManualClock } from '../src/lib/clock.ts'
import { silentLogger } from '../src/lib/logger.ts'
import type { HealthReport } from '../src/p2p/base/healthReport.ts'
import type { Verdict } from '../src/p2p/base/verdict.ts'
import { createHealthMonitor, healthLimits } from '../src/p2p/health/healthMonitor.ts'
import { createHealthRecord } from '../src/p2p/health/healthRecord.ts'
import { DerivationRecorder } from '../src/rollup/node/derivationRecorder.ts'
import type { DerivationFacts } from '../src/rollup/node/derivationStates.ts'
import { type DerivationStatus, derivationStatus } from '../src/rollup/node/derivationStatus.ts'
import type { HealthFacts } from '../src/rollup/node/health/facts.ts'
import { judge, verdictText } from '../src/rollup/node/health/verdict.ts'
import { type L1BlockRef, ZERO_L1_REF, ZERO_L2_REF } from '../src/rollup/protocol/types.ts'
import { healthToJson } from '../src/rpc/nodeHealth.ts'

/**
 * Faults as the parts of a node meet them: the RPC's text, `devium status` and the page must all name the cause. What the parts
 * do on a network has its own tests.
 */

const PEER = '16Uiu2HAm5UcGBcvZtAYgnANxy7LGgmsAaC3HoKN8tcuH6Hyr2Er8'
const START_MS = 1_700_000_000_000
const hash = `0x${'ab'.repeat(32)}` as const

interface Gossip {
  record: ReturnType<typeof createHealthRecord>
  bans: { peerID: string; reason: string }[]
  connected: string[]
}

/** What gossip says of itself when this has happened, and L1 has gone on for two minutes. */
async function gossip(statics: string[], happen: (gossip: Gossip) => void): Promise<HealthReport> {
  const clock = new ManualClock(START_MS)
  const record = createHealthRecord(clock, statics)
  const net: Gossip = { record, bans: [], connected: [PEER] }
  const monitor = createHealthMonitor(
    {
      ...{ clock, logger: silentLogger, record, connected: () => net.connected, bans: () => net.bans },
      gossip: () => ({ topic: 't', subscribers: net.connected.length, mesh: net.connected.length }),
      chainsOf: async () => [],
    },
    healthLimits(1000),
  )
  monitor.start()
  for (let second = 1; second <= 120; second++) {
    happen(net)
    record.onHead({ number: second, hash: `l1 ${second}`, movedBy: 'derivation' })
    await clock.advance(1_000)
  }
  const report = await monitor.report()
  monitor.stop()
  return report
}

const refused = (verdict: Pick<Extract<Verdict, { result: 'reject' }>, 'reason'>) => (net: Gossip) =>
  net.record.onVerdict(PEER, { result: 'reject', ...verdict })

const l1Block = (number: number): L1BlockRef => ({ ...ZERO_L1_REF, number, hash })

function silentFor(url: string, ms: number) {
  const clock = new ManualClock(START_MS - ms)
  const { observer, state } = createEndpointWatch({ url, clock })
  observer.onRequest('eth_call', 1)
  observer.onEnd('eth_call', 1, undefined)
  return state()
}

function derivation(facts: Partial<DerivationFacts>): DerivationStatus {
  return derivationStatus({
    ...{ nowMs: START_MS, l1Head: l1Block(90), l1HeadAtMs: START_MS, currentL1: l1Block(90), confirmations: 0 },
    ...{
      safe: { ...ZERO_L2_REF, number: 40, hash },
      safeMovedAtMs: START_MS,
      unsafe: { ...ZERO_L2_REF, number: 60, hash },
    },
    ...{
      l1Endpoint: undefined,
      l1HeadProblem: undefined,
      engineEndpoint: undefined,
      engineIsSyncing: false,
      blobs: undefined,
      follows: undefined,
    },
    record: new DerivationRecorder({ clock: { now: () => START_MS } }).record(),
    forks: { active: 'karst', next: undefined },
    config: { seqWindowSize: 3_600, blockTime: 2, forks: {} },
    ...facts,
  })
}

const BATCHER: BatcherStatus = {
  ...{ running: true, stopping: false, from: `0x${'33'.repeat(20)}`, waitsFor: undefined, safe: 40, unsafe: 60 },
  ...{
    lastLoaded: undefined,
    firstUnsaved: 41,
    pendingBlocks: 0,
    heldBytes: 0,
    unsafeDaBytes: 0,
    openChannel: undefined,
  },
  ...{ channelsToConfirm: 1, l1Head: 90, cancelling: undefined, craftProblem: undefined, sendError: undefined },
  l1: { lastAnswerMs: START_MS, error: undefined },
  rollupNode: { lastAnswerMs: START_MS, error: undefined },
  inFlight: [],
  loadError: undefined,
  lastHour: { transactions: 0, bytes: 0, costGwei: 0 },
  throttling: false,
}
const unpaid = {
  ...{ nonce: 4, hash, blobs: 0, startedAtMs: START_MS, bumps: 0, tipWei: 1n, feeCapWei: 2n, blobFeeCapWei: undefined },
  ...{ minedIn: undefined, missedBlocks: undefined, problem: 'insufficient funds for gas * price + value' },
}

const FAULTS: {
  fault: string
  gossip?: () => Promise<HealthReport>
  derivation?: DerivationStatus
  batcher?: BatcherStatus
  cause: RegExp
}[] = [
  {
    fault: 'blocks of a wrong signer',
    gossip: () => gossip([], refused({ reason: 'wrong-signer' })),
    cause: /the signer is not the one in L1's SystemConfig/i,
  },
  {
    fault: 'a clock that is ahead',
    gossip: () => gossip([], refused({ reason: 'too-old' })),
    cause: /compare the clocks of this machine and of the peers/i,
  },
  {
    fault: 'a static peer behind a closed port',
    gossip: () =>
      gossip([PEER], (net) => {
        net.connected = []
        net.record.onDialFailed(PEER, { reason: 'refused', text: 'nothing listens there (connection refused)' })
      }),
    cause: /the static peer is not connected \(16Uiu2\w+: nothing listens there/i,
  },
  {
    fault: 'a banned peer',
    gossip: () =>
      gossip([], (net) => {
        net.connected = []
        net.bans = [{ peerID: PEER, reason: 'score -180.62 is below -100: invalid messages on v4' }]
      }),
    cause:
      /1 peer is banned \(16Uiu2\w+: score -180.62 is below -100: invalid messages on v4\).*devium p2p unblock lifts a ban/,
  },
  {
    fault: 'an L1 that is gone',
    derivation: derivation({ l1Endpoint: silentFor('http://l1:8545', 30_000) }),
    cause: /waiting for L1: http:\/\/l1:8545\/? has answered no call for 30 s/,
  },
  {
    fault: 'a blob that is missing',
    derivation: derivation({
      blobs: {
        ...{ l1Block: l1Block(91), slot: 7, versionedHashes: [hash], sinceMs: START_MS - 60_000, tries: 9 },
        answers: [{ url: 'http://beacon', problem: 'HTTP 404' }],
      },
    }),
    cause: /waiting for 1 blob of L1 block 91, which http:\/\/beacon \(HTTP 404\) has not returned for 60 s/,
  },
  {
    fault: 'a batch submitter without funds',
    batcher: { ...BATCHER, inFlight: [unpaid] },
    cause: /the account 0x3{40} cannot pay for transaction .*insufficient funds/i,
  },
  {
    fault: 'an engine that has stopped',
    derivation: derivation({ engineEndpoint: silentFor('http://engine:8551', 20_000) }),
    cause: /waiting for the execution client: http:\/\/engine:8551\/? has answered no call for 20 s/,
  },
]

it.each(FAULTS)('$fault: one RPC, devium status and the page name it', async ({ cause, ...fault }) => {
  const gossipReport = await fault.gossip?.()
  const derives = fault.derivation ?? derivation({})
  const batcher = fault.batcher === undefined ? null : statusOfBatcher(fault.batcher)
  const sentence = [batcher?.why, gossipReport?.text, derives.text].find(
    (text) => text !== undefined && cause.test(text),
  )
  expect(sentence).toMatch(cause)

  const ref = { hash, number: 1, timestamp: 1 }
  const names = ['current_l1', 'head_l1', 'safe_l1', 'finalized_l1', 'unsafe_l2', 'safe_l2', 'finalized_l2']
  const heads = Object.fromEntries([...names, 'pending_safe_l2', 'queued_unsafe_l2'].map((name) => [name, ref]))
  const health = healthOf({
    gossip: gossipReport === undefined ? undefined : { ...gossipReport, hadPeers: true },
    derivation: derives,
    batcher: batcher === null ? undefined : { ...batcher, text: batcher.why, isStopped: false, startCommand: '' },
  })
  const node = { name: 'verifier', role: 'verifier', version: 'v1', chainId: '901', network: null, peerID: null }
  const terminal = statusLines({ health: { ...health, node }, heads, peers: undefined })
  expect(terminal.map(textOf).join('\n')).toMatch(cause)

  const known: Known = {
    ...{ name: 'verifier', connectionState: 'open', lostAtMs: undefined, batcherProblem: undefined },
    ...{ health, batcher },
  }
  const page = statusOf(known, START_MS)
  expect(page.tone).toBe('warned')
  expect(page.text).toMatch(/^Verifier is degraded\. /)
  expect(page.text).toMatch(cause)
})

const statusOfBatcher = (status: BatcherStatus) => ({ ok: isHealthy(status), why: explainStatus(status, START_MS) })

/** The health of a verifier that receives blocks. */
function healthOf(facts: Pick<HealthFacts, 'gossip' | 'derivation' | 'batcher'>) {
  const whole: HealthFacts = {
    ...{ nowMs: START_MS, startedMs: START_MS - 120_000, blockTimeMs: 1_000, l1HeadAtMs: START_MS },
    head: { number: 60, timestampMs: START_MS },
    lastBlock: { number: 60, atMs: START_MS, from: 'peers' },
    ...{ sequencer: undefined, follows: undefined, blocksPerSecond: 1 },
    ...facts,
  }
  const verdict = judge(whole)
  return healthToJson({
    ...verdict,
    ...{ sinceMs: START_MS, text: verdictText('verifier', verdict, whole), role: 'verifier', name: 'verifier' },
    ...{ derivation: facts.derivation, gossip: facts.gossip },
  })
}

it('the page says that a node has stopped', () => {
  const known: Known = {
    ...{ name: 'verifier', connectionState: 'lost', lostAtMs: START_MS - 12_000, batcherProblem: undefined },
    ...{ health: undefined, batcher: undefined },
  }
  expect(statusOf(known, START_MS).text).toMatch(/^Verifier has not answered for 12 s/)
})
