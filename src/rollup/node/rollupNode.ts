import type { AwaitedBlobs, L1HeadProblem } from '../../l1/index.ts'
import { type Clock, unixSeconds } from '../../lib/clock.ts'
import { DeviumError } from '../../lib/errors.ts'
import { type Hex, toQuantity } from '../../lib/hex.ts'
import type { EndpointState } from '../../lib/jsonRpc/endpointWatch.ts'
import type { Logger } from '../../lib/logger.ts'
import { type EngineClient, EngineController, type StartHeadsOptions, type SyncOptions } from '../engine/index.ts'
import { payloadBlockHash } from '../protocol/index.ts'
import {
  type L1BlockRef,
  type PayloadEnvelope,
  type RollupConfig,
  type SyncStatus,
  ZERO_L1_REF,
  ZERO_L2_REF,
} from '../protocol/types.ts'
import { type Conductor, OriginSelector, Sequencer, type SequencerAttributes } from '../sequencer/index.ts'
import type { OutputAtBlock, P2pPort, RollupNodeApi, SafeHeadAtL1Block } from './api.ts'
import { BlockTimesRecorder } from './blockTimes.ts'
import { CatchUpWatch } from './catchUpWatch.ts'
import { DerivationLoop, type Pipeline } from './derivationLoop.ts'
import { DerivationRecorder } from './derivationRecorder.ts'
import { type DerivationStatus, derivationStatus } from './derivationStatus.ts'
import { DerivationWatch } from './derivationWatch.ts'
import { EngineSyncWatch } from './engineSyncWatch.ts'
import { FinalityTracker } from './finality.ts'
import { FollowLoop, type FollowModules } from './followLoop.ts'
import type { NodeMetrics } from './metrics.ts'
import { createOutputReader } from './outputAtBlock.ts'
import type { SafeHeadDb } from './safeHeadDb.ts'
import { readSuperRoot } from './superRoot.ts'
import { UnsafeChain } from './unsafeChain.ts'

/** L1 as the node itself reads it: finding heads, origins and finality. */
export interface NodeL1 {
  blockInfoByHash(hash: Hex): Promise<L1BlockRef | undefined>
  blockInfoByNumber(number: number): Promise<L1BlockRef | undefined>
}

/** Tells of new L1 blocks; listeners are added before the node runs. */
export interface NodeL1Heads {
  onHead(listener: (ref: L1BlockRef) => void): void
  onSafe(listener: (ref: L1BlockRef) => void): void
  onFinalized(listener: (ref: L1BlockRef) => void): void
}

export interface RollupNodeModules {
  l1: NodeL1
  l1Heads: NodeL1Heads
  engine: EngineClient
  pipeline: Pipeline
  /** Present in follow mode: another node's safe head is taken over, and nothing is derived. */
  follow?: FollowModules['source'] | undefined
  /** Present on nodes that may sequence. */
  attributes?: SequencerAttributes
  /** Present on one of several sequencers. */
  conductor?: Conductor
  /** Absent with p2p disabled. */
  p2p?: P2pPort
  /** What is known beside the node of why derivation may wait. */
  insight?: NodeInsight
  /** Absent: no history of safe heads is kept. */
  safeHeads?: SafeHeadDb | undefined
  metrics: NodeMetrics
  clock: Clock
  logger: Logger
}

/** Where the reasons for a safe head that stands still are found; each part may be absent. */
export interface NodeInsight {
  /** The one that listens to the pipeline. */
  recorder?: DerivationRecorder
  l1Endpoint?: () => EndpointState
  engineEndpoint?: () => EndpointState
  l1HeadProblem?: () => L1HeadProblem | undefined
  awaitedBlobs?: () => AwaitedBlobs | undefined
  /** L1 blocks that must stand on top of one that derivation reads. */
  confirmations?: number
}

export interface SequencingOptions {
  /** False: wait for admin_startSequencer. */
  active: boolean
  /** L1 blocks that must stand on top of an origin. */
  confirmationDepth: number
  /** 0 = no bound. */
  maxSafeLag: number
  sealingMarginMs?: number
  recoverMode?: boolean
  /** Records a start or stop, so that it outlives the process. */
  onActiveChange?: (active: boolean) => Promise<void>
}

export interface RollupNodeOptions {
  /** Absent: a verifier. */
  sequencing?: SequencingOptions
  /** How the unsafe chain is followed; default consensus-layer sync. */
  sync?: SyncOptions
  /** How heads are found at the start and after a reset. */
  startHeads?: Omit<StartHeadsOptions, 'signal'>
  /** Reads the message passer's storage root by eth_getProof also after Isthmus. */
  withdrawalRootFromState?: boolean
}

export interface RollupNode extends RollupNodeApi {
  /** Works until the signal aborts, then resolves; rejects with the cause when the node cannot go on. Called once. */
  run(signal: AbortSignal): Promise<void>
}

export class NodeError extends DeviumError<
  'sequencer-disabled' | 'safe-db-disabled' | 'safe-head-not-found' | 'bad-block-hash'
> {
  override readonly name = 'NodeError'
}

/** Peers reject blocks that are older (specs: rollup-node-p2p, "Block validation"). */
const MAX_GOSSIP_AGE_S = 60

/** Assembles derivation, unsafe chain, finality and sequencer around one engine controller. */
export function createRollupNode(
  modules: RollupNodeModules,
  config: RollupConfig,
  options: RollupNodeOptions = {},
): RollupNode {
  const { l1, l1Heads, engine, p2p, metrics, clock, logger, insight = {} } = modules
  const recorder = insight.recorder ?? new DerivationRecorder({ clock })
  const controller = new EngineController(
    { engine, history: modules.safeHeads, clock, logger: logger.child({ module: 'engine' }) },
    config,
    options.sync,
  )
  const finality = new FinalityTracker({ l1 })
  const derivation = createDerivation()
  const resetFor = (reason: string) => () => derivation.requestReset(reason)
  const unsafeChain = new UnsafeChain(
    {
      engine: controller,
      requestRange: p2p?.requestRange?.bind(p2p),
      requestReset: resetFor('the engine does not have the block that a new one builds on'),
      metrics,
      clock,
      logger: logger.child({ module: 'unsafe' }),
    },
    config,
  )
  const blockTimes = new BlockTimesRecorder({ clock })
  const readOutput = createOutputReader(engine, config, {
    withdrawalRootFromState: options.withdrawalRootFromState ?? false,
  })
  const sequencing = createSequencing()
  metrics.watchSequencer(() => sequencing?.sequencer.active ?? false)
  let l1HeadAtMs: number | undefined
  let safeMovedAtMs: number | undefined
  const headListeners = new Set<() => void>()
  const tellOfHeads = () => {
    for (const listener of headListeners) listener()
  }
  const l1Refs = { head: ZERO_L1_REF, safe: ZERO_L1_REF, finalized: ZERO_L1_REF }
  listen()

  return {
    rollupConfig: config,
    syncStatus,

    async outputAtBlock(number): Promise<OutputAtBlock> {
      return { ...(await readOutput(number)), syncStatus: syncStatus() }
    },

    async safeHeadAtL1Block(l1BlockNumber): Promise<SafeHeadAtL1Block> {
      const entry = await requireSafeHeads(`failed to get safe head at l1 block ${toQuantity(l1BlockNumber)}: `).at(
        l1BlockNumber,
      )
      // op-node's whole text.
      if (entry === undefined) throw new NodeError('safe-head-not-found', 'not found')
      return { l1Block: entry.l1, safeHead: entry.safe }
    },

    onHeads(listener) {
      headListeners.add(listener)
      return () => void headListeners.delete(listener)
    },
    recentBlocks: () => blockTimes.recent,
    onDerivation: (listener) => recorder.onEvent(listener),
    derivationStatus: whySafeHead,
    superRootAtTimestamp: (timestamp) =>
      readSuperRoot(
        {
          syncStatus,
          outputAtBlock: (number) => readOutput(number),
          madeSafeBy: async (number) => (await requireSafeHeads('').madeSafeBy(number)).l1,
        },
        config,
        timestamp,
      ),

    // During a sync of the engine's own there is nothing to reset, and its end is followed by one.
    resetDerivationPipeline: async () => {
      if (!controller.syncing) await derivation.requestReset('an operator asked for it')
    },
    startSequencer: async (unsafeHead) => requireSequencer().start(unsafeHead),
    stopSequencer: async () => requireSequencer().stop(),
    sequencerActive: () => sequencing?.sequencer.active ?? false,
    overrideLeader: () => requireSequencer().overrideLeader(),
    conductorEnabled: () => sequencing?.sequencer.conductorEnabled ?? false,
    setRecoverMode: (isOn) => sequencing?.sequencer.setRecoverMode(isOn),

    async postUnsafePayload(envelope) {
      const given = envelope.payload.blockHash
      const computed = payloadBlockHash(envelope)
      if (computed !== given) {
        throw new NodeError('bad-block-hash', `payload has bad block hash: ${given}, actual block hash is: ${computed}`)
      }
      receivePayload(envelope)
    },

    async run(signal) {
      const stop = new AbortController()
      const loops = AbortSignal.any([signal, stop.signal])
      const tasks = [
        derivation.run(loops),
        unsafeChain.run(loops),
        new DerivationWatch({ status: whySafeHead, clock, logger }).run(loops),
        new CatchUpWatch({ status: whySafeHead, clock, logger }).run(loops),
        new EngineSyncWatch({ isSyncing: () => controller.syncing, engine, clock, logger }).run(loops),
        sequencing?.sequencer.run(loops) ?? Promise.resolve(),
      ]
      try {
        await Promise.all(tasks)
      } finally {
        // One loop that failed ends the others, and all have ended when the caller hears of it.
        stop.abort()
        await Promise.allSettled(tasks)
      }
    },
  }

  function createDerivation(): DerivationLoop | FollowLoop {
    const { pipeline, follow, safeHeads } = modules
    const parts = { controller, engine, l1, metrics, recorder, clock, logger: logger.child({ module: 'derivation' }) }
    return follow === undefined
      ? new DerivationLoop({ ...parts, pipeline, finality, safeHeads }, config, options.startHeads)
      : new FollowLoop({ ...parts, source: follow }, config, options.startHeads)
  }

  function requireSafeHeads(context: string): SafeHeadDb {
    if (modules.safeHeads !== undefined) return modules.safeHeads
    throw new NodeError('safe-db-disabled', `${context}safe head database not enabled`)
  }

  function createSequencing(): { sequencer: Sequencer; origins: OriginSelector } | undefined {
    if (modules.attributes === undefined || options.sequencing === undefined) return undefined
    const { confirmationDepth, onActiveChange, ...sequencerOptions } = options.sequencing
    const sequencerLogger = logger.child({ module: 'sequencer' })
    const origins = new OriginSelector({ l1, clock, logger: sequencerLogger }, config, { confirmationDepth })
    const sequencer = new Sequencer(
      {
        engine: controller,
        attributes: modules.attributes,
        origins,
        ...(modules.conductor === undefined ? {} : { conductor: modules.conductor }),
        publish,
        requestReset: resetFor('the sequencer found that its heads are no longer right'),
        ...(onActiveChange === undefined ? {} : { onActiveChange }),
        metrics,
        clock,
        logger: sequencerLogger,
      },
      config,
      sequencerOptions,
    )
    return { sequencer, origins }
  }

  async function publish(envelope: PayloadEnvelope): Promise<void> {
    // A sequencer that catches up after an outage would only be punished for these: they reach other nodes by L1.
    if (unixSeconds(clock) - envelope.payload.timestamp > MAX_GOSSIP_AGE_S) return
    blockTimes.signed(envelope)
    await p2p?.publish(envelope)
  }

  function requireSequencer(): Sequencer {
    if (sequencing === undefined) throw new NodeError('sequencer-disabled', 'sequencer is not enabled')
    return sequencing.sequencer
  }

  function receivePayload(envelope: PayloadEnvelope): void {
    metrics.receivedPayload(envelope)
    unsafeChain.add(envelope)
  }

  function listen(): void {
    p2p?.onPayload((envelope, from, way) => {
      blockTimes.came(envelope, from, way)
      receivePayload(envelope)
    })
    l1Heads.onHead((ref) => {
      const { head } = l1Refs
      // As op-node: a head that comes before the last one, or in its place.
      if (ref.parentHash !== head.hash && ref.hash !== head.hash && ref.number <= head.number) {
        metrics.l1Reorg(head.number - ref.number)
      }
      l1Refs.head = ref
      l1HeadAtMs = clock.now()
      metrics.l1Ref('l1_head', ref)
      sequencing?.origins.onL1Head(ref)
      derivation.onL1Head()
      tellOfHeads()
    })
    l1Heads.onSafe((ref) => {
      l1Refs.safe = ref
      metrics.l1Ref('l1_safe', ref)
      tellOfHeads()
    })
    l1Heads.onFinalized((ref) => {
      if (!finality.signal(ref)) return
      l1Refs.finalized = ref
      metrics.l1Ref('l1_finalized', ref)
      void derivation.tryFinalize()
      tellOfHeads()
    })
    let unsafe = controller.heads.unsafe.hash
    let isSyncing = controller.syncing
    let safe = controller.heads.safe.hash
    controller.subscribe((heads, movedBy) => {
      if (isSyncing && !controller.syncing) {
        isSyncing = false
        derivation.onEngineSynced()
      }
      if (heads.safe.hash !== safe) {
        safe = heads.safe.hash
        safeMovedAtMs = clock.now()
      }
      if (heads.unsafe.hash !== unsafe) {
        unsafe = heads.unsafe.hash
        p2p?.headMoved?.({ number: heads.unsafe.number, hash: unsafe, movedBy })
      }
      blockTimes.moved(heads, movedBy)
      metrics.l2Ref('l2_unsafe', heads.unsafe)
      metrics.l2Ref('l2_safe', heads.safe)
      metrics.l2Ref('l2_local_safe', heads.safe)
      metrics.l2Ref('l2_pending_safe', heads.pendingSafe)
      metrics.l2Ref('l2_finalized', heads.finalized)
      tellOfHeads()
    })
  }

  function whySafeHead(): DerivationStatus {
    const heads = controller.ready ? controller.heads : undefined
    return derivationStatus({
      nowMs: clock.now(),
      l1Head: l1HeadAtMs === undefined ? undefined : l1Refs.head,
      l1HeadAtMs,
      l1HeadProblem: insight.l1HeadProblem?.(),
      currentL1: derivation.currentL1,
      confirmations: insight.confirmations ?? 0,
      safe: heads?.safe,
      safeMovedAtMs,
      unsafe: heads?.unsafe,
      l1Endpoint: insight.l1Endpoint?.(),
      engineEndpoint: insight.engineEndpoint?.(),
      engineIsSyncing: controller.syncing,
      blobs: insight.awaitedBlobs?.(),
      follows: modules.follow?.url,
      record: recorder.record(),
      config,
    })
  }

  /** As op-node: while a reset is under way unsafe and safe are zero ("ask again"), the others as last known. */
  function syncStatus(): SyncStatus {
    const { unsafe, safe, pendingSafe, finalized } = controller.heads
    const isReady = controller.ready
    // Its own sync has a target, and no other head.
    const target = isReady || controller.syncing ? unsafe : ZERO_L2_REF
    return {
      currentL1: derivation.currentL1 ?? ZERO_L1_REF,
      headL1: l1Refs.head,
      safeL1: l1Refs.safe,
      finalizedL1: l1Refs.finalized,
      unsafeL2: target,
      safeL2: isReady ? safe : ZERO_L2_REF,
      finalizedL2: finalized,
      pendingSafeL2: pendingSafe,
      queuedUnsafeL2: unsafeChain.lowestQueued,
      engineSyncTarget: target,
    }
  }
}
