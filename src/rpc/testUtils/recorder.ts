import { DecodeError, DeviumError } from '../../lib/errors.ts'
import type { Hex } from '../../lib/hex.ts'
import type { P2pApi, PeerDump } from '../../p2p/base/api.ts'
import { ZERO_SCORES } from '../../p2p/base/api.ts'
import type { P2pNotification } from '../../p2p/base/notifications.ts'
import type { PeerRecord, PeerStanding } from '../../p2p/base/schemas.ts'
import type { DerivationListener } from '../../rollup/derive/index.ts'
import type { RollupNodeApi } from '../../rollup/node/api.ts'
import { DerivationRecorder } from '../../rollup/node/derivationRecorder.ts'
import { derivationStatus } from '../../rollup/node/derivationStatus.ts'
import { cause } from '../../rollup/node/health/facts.ts'
import { parseRollupConfig } from '../../rollup/protocol/index.ts'
import type { SyncStatus } from '../../rollup/protocol/types.ts'

export const hash = (digit: string): Hex => `0x${digit.repeat(64)}`
const l1 = (digit: string, number: number) => ({
  hash: hash(digit),
  number,
  parentHash: hash('f'),
  timestamp: 100 + number,
})
const l2 = (digit: string, number: number) => ({
  ...l1(digit, number),
  l1Origin: { hash: hash('e'), number: 1 },
  sequenceNumber: number,
})

const STATUS: SyncStatus = {
  currentL1: l1('1', 1),
  headL1: l1('2', 2),
  safeL1: l1('3', 3),
  finalizedL1: l1('4', 4),
  unsafeL2: l2('5', 5),
  safeL2: l2('6', 6),
  finalizedL2: l2('7', 7),
  pendingSafeL2: l2('8', 8),
  queuedUnsafeL2: l2('9', 9),
  localSafeL2: l2('b', 11),
  engineSyncTarget: l2('a', 10),
}

const ADDRESS = `0x${'22'.repeat(20)}`
export const CONFIG_JSON = {
  genesis: {
    l1: { hash: hash('1'), number: 1 },
    l2: { hash: hash('2'), number: 0 },
    l2_time: 1700000000,
    system_config: {
      batcherAddr: ADDRESS,
      overhead: hash('0'),
      scalar: hash('1'),
      gasLimit: 60000000,
      eip1559Params: '0x0000000000000000',
    },
  },
  block_time: 1,
  max_sequencer_drift: 600,
  seq_window_size: 3600,
  channel_timeout: 300,
  l1_chain_id: 900,
  l2_chain_id: 901,
  regolith_time: 0,
  canyon_time: 0,
  delta_time: 0,
  ecotone_time: 0,
  batch_inbox_address: ADDRESS,
  deposit_contract_address: ADDRESS,
  l1_system_config_address: ADDRESS,
  protocol_versions_address: ADDRESS,
}

export const RECORD: PeerRecord = {
  peerID: '16Uiu2HAm5UcGBcvZtAYgnANxy7LGgmsAaC3HoKN8tcuH6Hyr2Er8',
  nodeID: 'e2'.repeat(32),
  userAgent: '',
  protocolVersion: '',
  ENR: '',
  addresses: ['/ip4/127.0.0.1/tcp/1/p2p/16Uiu2HAm5UcGBcvZtAYgnANxy7LGgmsAaC3HoKN8tcuH6Hyr2Er8'],
  protocols: null,
  connectedness: 0,
  direction: 0,
  protected: false,
  chainID: 0,
  latency: 0,
  gossipBlocks: true,
  scores: ZERO_SCORES,
}

export const STANDING: PeerStanding = {
  ...{ peerID: RECORD.peerID, connected: true, score: -12, inMesh: false },
  ...{ static: false, protected: false, blocked: false, ban: null },
}

/** Fakes of the node and the p2p host that record their calls. */
export function recorder() {
  const listeners = {
    heads: new Set<() => void>(),
    derivation: new Set<DerivationListener>(),
    notifications: new Set<(notification: P2pNotification) => void>(),
  }
  const listenTo =
    <T>(listeners: Set<T>) =>
    (listener: T) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    }
  const calls: unknown[][] = []
  const note =
    (name: string, result?: unknown) =>
    async (...args: unknown[]) => {
      calls.push([name, ...args])
      // A part of an answer is enough, because it is passed on unchanged.
      return result as never
    }
  const node: RollupNodeApi = {
    rollupConfig: parseRollupConfig(CONFIG_JSON),
    syncStatus: () => STATUS,
    derivationStatus: () =>
      derivationStatus({
        nowMs: 10_000,
        l1Head: STATUS.headL1,
        l1HeadProblem: undefined,
        l1HeadAtMs: 9_000,
        currentL1: STATUS.currentL1,
        confirmations: 0,
        safe: STATUS.safeL2,
        safeMovedAtMs: undefined,
        unsafe: STATUS.safeL2,
        l1Endpoint: { url: 'http://l1', answeredAtMs: 9_000, silentSinceMs: undefined, failures: 0 },
        engineEndpoint: undefined,
        engineIsSyncing: false,
        blobs: undefined,
        follows: undefined,
        record: new DerivationRecorder({ clock: { now: () => 1_000 } }).record(),
        forks: { active: 'karst', next: undefined },
        config: { seqWindowSize: 3600, blockTime: 2, forks: {} },
      }),
    health: async () => ({
      ...{ state: 'degraded', sinceMs: 9_000, role: 'sequencer', name: undefined },
      text: 'Sequencer is degraded. It has no peers.',
      causes: [cause('no-peers', 'It has no peers.', { command: 'devium p2p check 16Uiu2' })],
      derivation: node.derivationStatus(),
      gossip: await p2p.health(),
    }),
    recentBlocks: () => [
      {
        ...{ number: 5, hash: hash('5'), timestamp: 105, gasUsed: 63_000, transactions: 2, signedAtMs: undefined },
        came: { atMs: 105_100, from: RECORD.peerID, way: 'gossip' },
        ...{
          executedAtMs: 105_120,
          executedBy: 'payload',
          safeAtMs: undefined,
          safeBy: undefined,
          finalizedAtMs: undefined,
        },
      },
    ],
    block: async () => undefined,
    onHeads: listenTo(listeners.heads),
    onDerivation: listenTo(listeners.derivation),
    outputAtBlock: note('outputAtBlock', {
      version: hash('0'),
      outputRoot: hash('b'),
      blockRef: l2('c', 12),
      withdrawalStorageRoot: hash('d'),
      stateRoot: hash('e'),
      syncStatus: STATUS,
    }),
    safeHeadAtL1Block: async () => {
      throw new DeviumError(
        'safe-db-disabled',
        'failed to get safe head at l1 block 0x5: safe head database not enabled',
      )
    },
    superRootAtTimestamp: note('superRoot', {
      currentL1: { hash: hash('1'), number: 1 },
      safeTimestamp: 6,
      localSafeTimestamp: 6,
      finalizedTimestamp: 7,
      chainId: 901n,
      chain: {
        timestamp: 5,
        output: {
          version: hash('0'),
          outputRoot: hash('b'),
          blockRef: l2('c', 12),
          withdrawalStorageRoot: hash('d'),
          stateRoot: hash('e'),
        },
        requiredL1: { hash: hash('2'), number: 2 },
        superRoot: hash('f'),
      },
    }),
    resetDerivationPipeline: note('reset'),
    startSequencer: note('start'),
    stopSequencer: note('stop', hash('5')),
    sequencerActive: () => true,
    overrideLeader: note('overrideLeader'),
    conductorEnabled: () => true,
    setRecoverMode: note('setRecoverMode'),
    setSdmPostExecOptIn: note('setSdmPostExecOptIn'),
    sdmStatus(timestamp) {
      calls.push(['sdmStatus', timestamp])
      return { postExecOptIn: true, protocolActive: false, effective: false, activationTime: 1_700_000_000 }
    },
    postUnsafePayload: note('post'),
  }
  const dump: PeerDump = {
    totalConnected: 1,
    peers: { [RECORD.peerID]: RECORD },
    bannedPeers: [],
    bannedIPS: ['1.2.3.4'],
    bannedSubnets: ['10.0.0.0/8'],
    timeBans: ['16Uiu2banned'],
  }
  const answers: Partial<P2pApi> = {
    self: async () => RECORD,
    peers: note('peers', dump),
    peerStats: async () => ({
      connected: 1,
      table: 2,
      blocksTopic: 3,
      blocksTopicV2: 4,
      blocksTopicV3: 5,
      blocksTopicV4: 6,
      banned: 7,
      timeBanned: 2,
      known: 8,
    }),
    discoveryTable: async () => {
      throw new DeviumError('discovery-disabled', 'discovery disabled')
    },
    blockPeer: async (id) => {
      if (id === 'xx') throw new DecodeError('failed to parse peer ID')
      calls.push(['blockPeer', id])
    },
    listBlockedPeers: note('listBlockedPeers', [RECORD.peerID]),
    listBlockedAddrs: note('listBlockedAddrs', []),
    listBlockedSubnets: note('listBlockedSubnets', ['10.1.0.0/16', 'fd00::/8']),
    accessRules: () => ({
      blocks: [
        { subject: RECORD.peerID, kind: 'peer', reason: 'sent old blocks', sinceMs: 1_000 },
        { subject: '10.1.0.0/16', kind: 'subnet', reason: '', sinceMs: 2_000 },
        { subject: 'fd00::/8', kind: 'subnet', reason: '', sinceMs: null },
      ],
      allow: null,
    }),
    peerScore: note('peerScore', [{ peerID: RECORD.peerID, total: -12 }]),
    peerHistory: note('peerHistory', [{ peerID: RECORD.peerID, events: [] }]),
    health: note('health', { state: 'no-peers', ok: false }),
    onNotification: listenTo(listeners.notifications),
    names: () => ({}),
    standings: () => [{ ...STANDING }],
    bans: note('bans', [{ subject: RECORD.peerID, kind: 'peer', reason: 'score', untilMs: 5_000, remainingS: 3 }]),
  }
  // Every other member records the call and returns nothing, so that a new method needs no line here.
  const p2p = new Proxy(answers, {
    get: (known, name) => Reflect.get(known, name) ?? (typeof name === 'string' ? note(name) : undefined),
  }) as P2pApi
  return { calls, listeners, node, p2p }
}
