import { unixSeconds } from '../../lib/clock.ts'
import { DeviumError, describeError } from '../../lib/errors.ts'
import { toQuantity } from '../../lib/hex.ts'
import { EngineController, type EngineHeads } from '../engine/index.ts'
import { payloadBlockHash } from '../protocol/index.ts'
import {
  type L1BlockRef,
  type L2BlockRef,
  type PayloadEnvelope,
  type RollupConfig,
  type SyncStatus,
  ZERO_L1_REF,
  ZERO_L2_REF,
} from '../protocol/types.ts'
import { OriginSelector, Sequencer } from '../sequencer/index.ts'
import type { OutputAtBlock, RollupNodeApi, SafeHeadAtL1Block } from './api.ts'
import { readBlockDetails } from './blockDetails.ts'
import { BlockPublisher } from './blockPublisher.ts'
import { BlockTimesRecorder } from './blockTimes.ts'
import { createCatchUpWatch } from './catchUpWatch.ts'
import { DerivationLoop } from './derivationLoop.ts'
import { DerivationRecorder } from './derivationRecorder.ts'
import { type DerivationStatus, derivationStatus } from './derivationStatus.ts'
import { createEngineForks } from './engineForks.ts'
import { watchEngineSync } from './engineSyncWatch.ts'
import { FinalityTracker } from './finality.ts'
import { FollowLoop } from './followLoop.ts'
import { forkOutlook } from './forkOutlook.ts'
import { ForkWatch } from './forkWatch.ts'
import { createBatcherWatch } from './health/batcherWatch.ts'
import { HealthWatch } from './health/healthWatch.ts'
import { createOutputReader } from './outputAtBlock.ts'
import type { RollupNodeModules, RollupNodeOptions } from './rollupNodeModules.ts'
import type { SafeHeadDb } from './safeHeadDb.ts'
import { SdmOptIn } from './sdmOptIn.ts'
import { readSuperRoot } from './superRoot.ts'
import { UnsafeChain } from './unsafeChain.ts'

export interface RollupNode extends RollupNodeApi {
  /** Works until the signal aborts, then resolves. Rejects with the cause if the node cannot continue. Call it once. */
  run(signal: AbortSignal): Promise<void>
}

export class NodeError extends DeviumError<
  'sequencer-disabled' | 'safe-db-disabled' | 'safe-head-not-found' | 'bad-block-hash'
> {
  override readonly name = 'NodeError'
}

/** Peers reject older blocks (specs: rollup-node-p2p, "Block validation"). */
const GOSSIP_WINDOW_MS = 60_000

/** Connects derivation, unsafe chain, finality and sequencer to one engine controller. */
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
  const finality = new FinalityTracker({ l1 }, options.finality)
  const derivation = createDerivation()
  const resetFor = (reason: string) => () => derivation.requestReset(reason)
  const unsafeChain = new UnsafeChain(
    {
      engine: controller,
      requestRange: p2p?.requestRange?.bind(p2p),
      requestReset: resetFor('the engine lacks the parent of a new block'),
      metrics,
      clock,
      logger: logger.child({ module: 'unsafe' }),
    },
    config,
  )
  const blockTimes = new BlockTimesRecorder({ clock })
  const readOutput = createOutputReader(engine, config, { fromState: options.withdrawalRootFromState ?? false })
  const publisher = new BlockPublisher(
    {
      publish: async (envelope) => p2p?.publish(envelope),
      onTry: (error) => health.published(error),
      metrics,
      clock,
      logger: logger.child({ module: 'sequencer' }),
    },
    { windowMs: options.gossipWindowMs ?? GOSSIP_WINDOW_MS },
  )
  const sequencing = createSequencing()
  const sdm = new SdmOptIn({ engine, clock, logger }, config, options.sequencing?.sdm ?? {})
  const batcherWatch = insight.batcher && createBatcherWatch({ batcher: insight.batcher, clock })
  const health = new HealthWatch(
    {
      head: () => (controller.ready ? controller.heads.unsafe : undefined),
      derivation: whySafeHead,
      sequencer: () => sequencing?.sequencer.status,
      gossip: p2p?.health?.bind(p2p),
      batcher: () => batcherWatch?.last(),
      clock,
      logger,
    },
    { blockTimeS: config.blockTime, name: options.name },
  )
  const follows = modules.follow !== undefined && sequencing === undefined
  const engineForks = insight.engineForkCheck && createEngineForks({ check: insight.engineForkCheck, clock })
  metrics.watchHealth(() => health.states())
  metrics.watchPublishQueue(() => publisher.length)
  metrics.watchSequencer(() => sequencing?.sequencer.active ?? false)
  let l1HeadAtMs: number | undefined
  let safeMovedAtMs: number | undefined
  const headListeners = new Set<() => void>()
  const notifyHeadListeners = () => {
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
      // op-node's complete error text.
      if (entry === undefined) throw new NodeError('safe-head-not-found', 'not found')
      return { l1Block: entry.l1, safeHead: entry.safe }
    },

    onHeads(listener) {
      headListeners.add(listener)
      return () => void headListeners.delete(listener)
    },
    recentBlocks: () => blockTimes.recent,
    block: (hash) => readBlockDetails({ engine, l1, recent: () => blockTimes.recent }, config.batchInboxAddress, hash),
    onDerivation: (listener) => recorder.onEvent(listener),
    derivationStatus: whySafeHead,
    health: () => health.read(),
    superRootAtTimestamp: async (timestamp) => {
      // Before anything is read: a challenger takes an answer without the chain for a block that is not safe yet.
      const history = requireSafeHeads('--safedb.path is required to serve superroot_atTimestamp: ')
      const madeSafeBy = async (number: number) => (await history.madeSafeBy(number)).l1
      return readSuperRoot({ syncStatus, outputAtBlock: (number) => readOutput(number), madeSafeBy }, config, timestamp)
    },

    // During the engine's own sync there is nothing to reset. A reset follows its end.
    resetDerivationPipeline: async () => {
      if (!controller.syncing) await derivation.requestReset('an operator requested it')
    },
    startSequencer: async (unsafeHead) => requireSequencer().start(unsafeHead),
    stopSequencer: async () => requireSequencer().stop(),
    sequencerActive: () => sequencing?.sequencer.active ?? false,
    overrideLeader: () => requireSequencer().overrideLeader(),
    conductorEnabled: () => sequencing?.sequencer.conductorEnabled ?? false,
    setSdmPostExecOptIn: async (optIn) => {
      requireSequencer()
      await sdm.set(optIn)
    },
    sdmStatus: (timestamp) => sdm.status(timestamp),
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
        health.run(loops),
        batcherWatch?.run(loops),
        createCatchUpWatch({ status: whySafeHead, clock, logger }).run(loops),
        watchEngineSync({ isSyncing: () => controller.syncing, engine, clock, logger }, loops),
        new ForkWatch({ clock, logger, engineForkCheck: insight.engineForkCheck }, config, { follows }).run(loops),
        sequencing?.sequencer.run(loops),
        sequencing && sdm.run(loops),
      ]
      try {
        await Promise.all(tasks)
      } finally {
        // A failed loop stops the other loops. All have ended when the caller gets the result.
        stop.abort()
        await Promise.allSettled(tasks)
        await publisher.stop()
      }
    },
  }

  function createDerivation(): DerivationLoop | FollowLoop {
    const { pipeline, follow, attributes, safeHeads } = modules
    const parts = { controller, engine, l1, metrics, recorder, clock, logger: logger.child({ module: 'derivation' }) }
    return follow === undefined
      ? new DerivationLoop({ ...parts, pipeline, finality, safeHeads }, config, options.startHeads)
      : new FollowLoop(
          {
            ...parts,
            source: follow,
            prepare: attributes && ((parent, block) => attributes.prepare(parent, block.l1Origin)),
          },
          config,
          options.startHeads,
        )
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
        publish(envelope) {
          blockTimes.signed(envelope)
          publisher.add(envelope)
        },
        requestReset: resetFor("the sequencer's heads are no longer valid"),
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

  /** Prefetches the deposits that the first block on an origin needs. */
  function readOriginAhead({ hash, number }: L1BlockRef): void {
    l1.receipts(hash).catch((error: unknown) => {
      logger.debug('Could not prefetch the receipts of the L1 head', { number, err: describeError(error) })
    })
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
      if (way === 'gossip') metrics.gossiped(envelope, clock.now())
      receivePayload(envelope)
    })
    l1Heads.onHead((ref) => {
      const { head } = l1Refs
      // As in op-node: a head that precedes or replaces the last head.
      if (ref.parentHash !== head.hash && ref.hash !== head.hash && ref.number <= head.number) {
        metrics.l1Reorg(head.number - ref.number)
      }
      l1Refs.head = ref
      l1HeadAtMs = clock.now()
      metrics.l1Ref('l1_head', ref)
      sequencing?.origins.onL1Head(ref)
      if (sequencing?.sequencer.active === true) readOriginAhead(ref)
      derivation.wake()
      notifyHeadListeners()
    })
    l1Heads.onSafe((ref) => {
      l1Refs.safe = ref
      metrics.l1Ref('l1_safe', ref)
      notifyHeadListeners()
    })
    l1Heads.onFinalized((ref) => {
      if (!finality.signal(ref)) return
      l1Refs.finalized = ref
      metrics.l1Ref('l1_finalized', ref)
      void derivation.tryFinalize()
      notifyHeadListeners()
    })
    let unsafe = controller.heads.unsafe.hash
    let isSyncing = controller.syncing
    let safe = controller.heads.safe.hash
    controller.subscribe((heads, movedBy) => {
      if (isSyncing && !controller.syncing) {
        isSyncing = false
        derivation.wake()
      }
      if (heads.safe.hash !== safe) {
        safe = heads.safe.hash
        safeMovedAtMs = clock.now()
      }
      if (heads.unsafe.hash !== unsafe) {
        unsafe = heads.unsafe.hash
        health.headMoved(heads.unsafe, movedBy)
        p2p?.headMoved?.({ number: heads.unsafe.number, hash: unsafe, movedBy })
      }
      blockTimes.moved(heads, movedBy, derivation.currentL1)
      metrics.l2Ref('l2_unsafe', heads.unsafe)
      metrics.l2Ref('l2_safe', heads.safe)
      metrics.l2Ref('l2_local_safe', localSafeOf(heads))
      metrics.l2Ref('l2_pending_safe', heads.pendingSafe)
      metrics.l2Ref('l2_finalized', heads.finalized)
      notifyHeadListeners()
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
      unsafeGap: unsafeChain.unsafeGap,
      l1Endpoint: insight.l1Endpoint?.(),
      engineEndpoint: insight.engineEndpoint?.(),
      engineIsSyncing: controller.syncing,
      blobs: insight.awaitedBlobs?.(),
      batcher: batcherWatch?.last(),
      follows: modules.follow?.url,
      record: recorder.record(),
      forks: forkOutlook({
        ...{ config, follows },
        l2Time: heads?.unsafe.timestamp ?? unixSeconds(clock),
        engine: engineForks,
      }),
      config,
    })
  }

  /** A followed node reports its local safe head and its safe head. Without one, both are the head that this node derived. */
  function localSafeOf({ safe, pendingSafe }: EngineHeads): L2BlockRef {
    return modules.follow === undefined ? safe : pendingSafe
  }

  /** As in op-node: during a reset unsafe and safe are zero ("ask again"), the others keep their last values. */
  function syncStatus(): SyncStatus {
    const { unsafe, safe, pendingSafe, finalized } = controller.heads
    const isReady = controller.ready
    // The engine's own sync has a target, but no other head.
    const target = isReady || controller.syncing ? unsafe : ZERO_L2_REF
    return {
      currentL1: derivation.currentL1 ?? ZERO_L1_REF,
      headL1: l1Refs.head,
      safeL1: l1Refs.safe,
      finalizedL1: l1Refs.finalized,
      unsafeL2: target,
      safeL2: isReady ? safe : ZERO_L2_REF,
      localSafeL2: isReady ? localSafeOf(controller.heads) : ZERO_L2_REF,
      finalizedL2: finalized,
      pendingSafeL2: pendingSafe,
      queuedUnsafeL2: unsafeChain.lowestQueued,
      engineSyncTarget: target,
    }
  }
}
