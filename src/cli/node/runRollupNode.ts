import { existsSync } from 'node:fs'
import { collectDefaultMetrics, Registry } from 'prom-client'
import { createRpcClient, type RpcClientObserver } from '../../jsonRpc/client.ts'
import { createRpcClientMetrics } from '../../jsonRpc/clientMetrics.ts'
import { redact } from '../../jsonRpc/credentials.ts'
import { createEndpointWatch } from '../../jsonRpc/endpointWatch.ts'
import { allowedHostsFor } from '../../jsonRpc/hostCheck.ts'
import { createRpcApp, serveApp } from '../../jsonRpc/httpServer.ts'
import {
  createBlobsAhead,
  createL1,
  createL1HeadTracker,
  createReadAhead,
  type L1,
  withConfirmationDepth,
} from '../../l1/index.ts'
import { createCacheMetrics } from '../../lib/cacheMetrics.ts'
import { type Clock, systemClock } from '../../lib/clock.ts'
import { loadJwtSecret } from '../../lib/jwt.ts'
import type { Logger } from '../../lib/logger.ts'
import { untilAborted, untilStopped } from '../../lib/untilAborted.ts'
import {
  createAttributesBuilder,
  createDerivationPipeline,
  type DerivationListener,
} from '../../rollup/derive/index.ts'
import { createEngineClient, type EngineClient } from '../../rollup/engine/index.ts'
import { networkOfChain } from '../../rollup/networks/index.ts'
import {
  createDerivationMetrics,
  createNodeMetrics,
  createRollupNode,
  createSequencerState,
  DerivationRecorder,
  FollowSource,
  RuntimeConfig,
  type SafeHeadDb,
  type SequencingOptions,
} from '../../rollup/node/index.ts'
import type { RollupConfig } from '../../rollup/protocol/index.ts'
import { ConductorClient } from '../../rollup/sequencer/index.ts'
import {
  addDashboard,
  addReadyPath,
  createRollupRpc,
  createRpcMetrics,
  LIVE_NOTIFICATION,
  type ReadBatcher,
} from '../../rpc/index.ts'
import { createEngineForkCheck } from '../operator/doctor/engineForkCheck.ts'
import { TESTNET_COMMANDS } from '../operator/testnet/commandTable.ts'
import { requestCommand } from '../operator/testnet/controlClient.ts'
import type { FlagValues } from '../shared/flags.ts'
import { serveMetrics } from '../shared/metricsServer.ts'
import { createProgramLogger, type RunContext } from '../shared/program.ts'
import { rpcAccess } from '../shared/rpcAccess.ts'
import { VERSION } from '../shared/version.ts'
import { type Endpoint, waitForEndpoint } from '../shared/waitForEndpoint.ts'
import { createBatcherReader } from './batcherReader.ts'
import { refuseUncheckedMessages } from './chainChecks.ts'
import { shownNodes } from './dashboardFlags.ts'
import { beaconOptionsFromFlags, openBeacon } from './l1Beacon.ts'
import { type p2pFlags, p2pOptionsFromFlags } from './p2pFlags.ts'
import { checkEngine, checkL1 } from './rollupNodeChecks.ts'
import { checkRollupNodeFlags, loadRollupConfig } from './rollupNodeConfig.ts'
import type { rollupNodeFlags } from './rollupNodeFlags.ts'
import { canSign, createP2p, publishingPort, withKnownBootnodes } from './rollupNodeP2p.ts'
import { syncOptionsFromFlags } from './syncOptions.ts'

/** Limits of the computed number of cached L1 headers. The upper one is about 20 MB. */
const MIN_L1_HEADERS = 900
const MAX_L1_HEADERS = 20_000

/** Far above the size of any sync status. */
const MAX_STATUS_BYTES = 1024 * 1024

export type RollupNodeValues = FlagValues<typeof rollupNodeFlags & typeof p2pFlags>

/** The composition root of the rollup node. Opened resources are closed in reverse order. */
export async function runRollupNode(values: RollupNodeValues, context: RunContext): Promise<void> {
  const clock = systemClock
  const logger = createProgramLogger(values, context.signal)
  for (const warning of context.warnings) logger.warn(warning)
  const endpoints = checkRollupNodeFlags(values)
  const hadSecret = existsSync(endpoints.jwtPath)
  const jwtSecret = loadJwtSecret(endpoints.jwtPath, { create: true })
  if (!hadSecret)
    logger.warn('Created the JWT secret file, because it was missing. The engine needs the same secret', {
      file: endpoints.jwtPath,
    })
  const config = await loadRollupConfig(values, logger)
  refuseUncheckedMessages(config, values.l2FollowSource)
  const beaconOptions = beaconOptionsFromFlags(values, config)
  const sequencing = await readSequencing(values, logger)
  const p2pOptions = withKnownBootnodes(p2pOptionsFromFlags(values), config)
  const registry = new Registry()
  if (values.metricsEnabled) collectDefaultMetrics({ register: registry })

  const stop = new AbortController()
  const signal = AbortSignal.any([context.signal, stop.signal])
  const opened = new AsyncDisposableStack()
  try {
    const observe = createRpcClientMetrics(registry, 'op_node_default')
    const engineWatch = createEndpointWatch({ url: endpoints.l2, clock }, observe('engine-api'))
    const engineRpc = createRpcClient({
      url: endpoints.l2,
      jwtSecret,
      timeoutMs: values.l2EngineRpcTimeout,
      observer: engineWatch.observer,
    })
    opened.defer(() => engineRpc.close())
    const l1Endpoints = createL1(
      { clock, logger: logger.child({ module: 'l1' }), registry, observer: observe('l1') },
      {
        urls: values.l1,
        trustRpc: values.l1Trustrpc,
        rpcKind: values.l1Rpckind,
        maxBatchSize: values.l1RpcMaxBatchSize,
        maxConcurrency: values.l1MaxConcurrency,
        rateLimitPerSecond: values.l1RpcRateLimit,
        cacheSize:
          values.l1CacheSize ||
          Math.max(MIN_L1_HEADERS, Math.min(MAX_L1_HEADERS, Math.ceil(config.seqWindowSize * 1.5))),
        // This node reads only deposits and system config updates from receipts.
        logAddresses: [config.depositContractAddress, config.l1SystemConfigAddress],
        transactionsTo: [config.batchInboxAddress],
        watchCache: createCacheMetrics(registry, 'op_node_default_l1_source_cache'),
      },
    )
    opened.defer(() => l1Endpoints.close())
    const l1 = l1Endpoints.client
    const engine = createEngineClient({ rpc: engineRpc }, config, {
      timeoutMs: values.l2EngineRpcTimeout,
      watchCache: createCacheMetrics(registry, 'op_node_default_l2_source_cache'),
    })
    const runtimeConfig = new RuntimeConfig({ l1, clock, logger }, config, { confirmations: values.verifierL1Confs })
    // The p2p stack loads slowly, so it loads while the node waits for the endpoints.
    const creatingP2p = createP2p(p2pOptions, { config, engine, runtimeConfig, registry, clock, logger, signal })
    opened.defer(async () => (await creatingP2p.catch(() => undefined))?.stop())
    const checking = Promise.all([
      creatingP2p,
      openBeacon(
        beaconOptions,
        { ignoreFailedCheck: values.l1BeaconIgnore, signal },
        { clock, logger: logger.child({ module: 'l1' }), opened },
      ),
      checkEndpoints(
        { l1: l1Endpoints, engine, runtimeConfig },
        config,
        { l2Url: endpoints.l2, syncsFirst: values.syncmode === 'execution-layer' },
        { clock, logger, signal },
      ),
    ])
    const [p2p, blobs] = await untilAborted(checking, signal)

    const l1Heads = createL1HeadTracker(
      { client: l1, clock, logger: logger.child({ module: 'l1' }) },
      { pollIntervalMs: values.l1HttpPollInterval, epochPollIntervalMs: values.l1EpochPollInterval },
    )
    const blobsAhead = blobs && createBlobsAhead(blobs, { batchInbox: config.batchInboxAddress })
    const l1Ahead = createReadAhead(l1, blobsAhead?.onBlock)
    let l1HeadNumber: number | undefined
    l1Heads.onHead((head) => {
      l1HeadNumber = head.number
      l1Ahead.onHead(head)
    })
    const confirmedL1 = withConfirmationDepth(l1Ahead, values.verifierL1Confs, () => l1HeadNumber)
    const recorder = new DerivationRecorder({ clock })
    const countEvent = createDerivationMetrics(registry)
    const listener: DerivationListener = (event) => {
      recorder.listen(event)
      countEvent(event)
    }
    const pipeline = createDerivationPipeline(
      {
        l1: confirmedL1,
        l2: engine,
        blobs: blobsAhead,
        logger: logger.child({ module: 'derivation' }),
        listener,
        clock,
      },
      config,
    )
    const metrics = createNodeMetrics(registry)
    const safeHeads = await openSafeHeads(values.safedbPath, opened)
    if (safeHeads !== undefined && values.l2FollowSource !== undefined)
      logger.warn(
        '--safedb.path records nothing with --l2.follow.source: query the followed node for safe heads by L1 block',
      )
    const conductorRpc = values.conductorEnabled
      ? createRpcClient({ url: values.conductorRpc, maxResponseBytes: 1024 * 1024, observer: observe('conductor') })
      : undefined
    if (conductorRpc !== undefined) opened.defer(() => conductorRpc.close())
    if (values.conductorEnabled && !values.rpcEnableAdmin) {
      logger.warn('The conductor cannot start the sequencer, because the admin methods are disabled', {
        flag: 'rpc.enable-admin',
      })
    }
    const follow = createFollowSource(values, observe('follow-source-api'), opened)
    const sync = syncOptionsFromFlags(values, config, logger)
    const readBatcher = openBatcher(values, opened)
    const node = createRollupNode(
      {
        l1,
        l1Heads,
        engine,
        pipeline,
        follow,
        attributes:
          sequencing === undefined && follow === undefined
            ? undefined
            : createAttributesBuilder({ l1, l2: engine }, config),
        conductor:
          conductorRpc &&
          new ConductorClient(
            { rpc: conductorRpc, clock, logger: logger.child({ module: 'conductor' }) },
            { timeoutMs: values.conductorRpcTimeout },
          ),
        p2p: p2p && publishingPort(p2p, sequencing !== undefined && !canSign(p2pOptions), logger),
        insight: {
          batcher: readBatcher && {
            read: readBatcher,
            startCommand: `devium batcher start --rpc ${redact(values.dashboardBatcher ?? '')}`,
          },
          recorder,
          l1Endpoint: l1Endpoints.activeEndpoint,
          engineEndpoint: engineWatch.state,
          l1HeadProblem: l1Heads.problem,
          awaitedBlobs: () => blobs?.status().waiting,
          confirmations: values.verifierL1Confs,
          engineForkCheck: createEngineForkCheck({ rpc: engineRpc, clock }, config),
        },
        safeHeads,
        metrics,
        clock,
        logger,
      },
      config,
      {
        name: context.given.has('dashboard.name') ? values.dashboardName : undefined,
        sequencing,
        gossipWindowMs: values.p2pGossipTimestampThreshold,
        finality: { lookback: values.finalityLookback, delay: values.finalityDelay },
        withdrawalRootFromState: values.fetchWithdrawalRootFromState,
        sync,
        startHeads: {
          maxReorgWindows: values.rollupMaxReorgWindows,
          skipCheck: values.l2SkipSyncStartCheck,
          offsetBlocks: sync.offsetBlocks,
        },
      },
    )

    const network = values.network ?? networkOfChain(config.l2ChainId)
    const rpcMetrics = createRpcMetrics(registry, 'op_node_default')
    const { dashboardTestnet: testnetDir } = values
    const testnet =
      testnetDir === undefined
        ? undefined
        : { commands: TESTNET_COMMANDS, run: (words: readonly string[]) => requestCommand(testnetDir, words) }
    const { dispatcher, history } = createRollupRpc(
      { node, p2p, clock, logger, metrics: rpcMetrics, batcherStatus: readBatcher, testnet },
      { version: VERSION, network, enableAdmin: values.rpcEnableAdmin },
    )
    const allowedHosts = values.rpcVhosts.length === 0 ? allowedHostsFor(values.rpcAddr) : values.rpcVhosts
    const access = rpcAccess(values, logger)
    const rpcApp = createRpcApp({
      dispatcher,
      access,
      version: VERSION,
      allowedHosts,
      // As with op-node, any web page may read.
      corsOrigins: ['*'],
      trustedOrigins: values.rpcCorsdomain,
    })
    if (values.dashboard) {
      const nodes = shownNodes(values.dashboardNodes)
      const refusesChanges = access !== undefined && access.token === undefined
      addDashboard(rpcApp, { name: values.dashboardName, nodes, refusesChanges })
    }
    addReadyPath(rpcApp, { node, clock }, { maxBlocksBehind: values.rpcReadyBlocks })
    const webSockets = {
      ...{ dispatcher, allowedHosts, access, notification: LIVE_NOTIFICATION },
      allowedOrigins: values.rpcCorsdomain,
      onDropped: (reason: string) => logger.warn('A WebSocket client was dropped', { reason }),
    }
    const rpcServer = await serveApp(rpcApp, values.rpcAddr, values.rpcPort, '--rpc.port', { webSockets, signal })
    opened.defer(() => rpcServer.close())
    const metricsServer = values.metricsEnabled
      ? await serveMetrics(registry, values.metricsAddr, values.metricsPort, signal)
      : undefined
    if (metricsServer !== undefined) opened.defer(() => metricsServer.close())
    await p2p?.start()

    logger.info('Rollup node started', {
      version: VERSION,
      chain: config.l2ChainId,
      l1Chain: config.l1ChainId,
      rpc: rpcServer.url,
      dashboard: values.dashboard ? `${rpcServer.url}/dashboard` : undefined,
      metrics: metricsServer?.url,
      p2p: p2p?.multiaddrs().join(','),
      peerId: p2p?.peerId,
      sequencer: sequencing === undefined ? 'off' : sequencing.active ? 'active' : 'stopped',
    })
    metrics.started(VERSION)
    l1Heads.start(signal)
    const running = Promise.all([
      node.run(signal),
      history.run(signal),
      l1Endpoints.run(signal, () => l1Heads.pollNow()),
      runtimeConfig.run(signal, values.l1RuntimeConfigReloadInterval),
    ])
    await untilStopped(running, signal, clock)
  } finally {
    stop.abort()
    await opened.disposeAsync()
  }
}

async function openSafeHeads(path: string | undefined, opened: AsyncDisposableStack): Promise<SafeHeadDb | undefined> {
  if (path === undefined) return undefined
  const { SafeHeadDb } = await import('../../rollup/node/safeHeadDb.ts')
  const safeHeads = await SafeHeadDb.open(path)
  opened.defer(() => safeHeads.close())
  return safeHeads
}

function createFollowSource(
  values: RollupNodeValues,
  observer: RpcClientObserver,
  opened: AsyncDisposableStack,
): FollowSource | undefined {
  const { l2FollowSource: url, l2FollowSourceRpcTimeout: timeoutMs } = values
  if (url === undefined) return undefined
  const rpc = createRpcClient({ url, maxResponseBytes: MAX_STATUS_BYTES, observer })
  opened.defer(() => rpc.close())
  return new FollowSource({ rpc }, { timeoutMs })
}

/** Connects to the batch submitter whose status the RPC serves. */
function openBatcher(
  { dashboardBatcher: url, dashboardBatcherTokenFile: tokenFile }: RollupNodeValues,
  opened: AsyncDisposableStack,
): ReadBatcher | undefined {
  if (url === undefined) return undefined
  const batcher = createBatcherReader({ url, tokenFile })
  opened.defer(() => batcher.close())
  return batcher.read
}

/** Queries all endpoints at once, because each may still be starting. */
async function checkEndpoints(
  { l1, engine, runtimeConfig }: { l1: L1; engine: EngineClient; runtimeConfig: RuntimeConfig },
  config: RollupConfig,
  { l2Url, syncsFirst }: { l2Url: string; syncsFirst: boolean },
  waiting: { clock: Clock; logger: Logger; signal: AbortSignal },
): Promise<void> {
  const l1At = (url: string): Endpoint => ({ name: 'L1', flagName: 'l1', url: redact(url) })
  const l2Endpoint: Endpoint = { name: 'the L2 engine', flagName: 'l2', url: redact(l2Url) }
  await Promise.all([
    l1
      .check(({ url, client }) => waitForEndpoint(l1At(url), () => checkL1(client, config, waiting.logger), waiting))
      .then(() => waitForEndpoint(l1At(l1.activeEndpoint().url), () => runtimeConfig.load(), waiting)),
    waitForEndpoint(l2Endpoint, () => checkEngine(engine, config, waiting.logger, { syncsFirst }), waiting),
  ])
}

async function readSequencing(values: RollupNodeValues, logger: Logger): Promise<SequencingOptions | undefined> {
  if (!values.sequencerEnabled) return undefined
  // With a conductor, the conductor starts the sequencer.
  let active = !values.sequencerStopped && !values.conductorEnabled
  const state = values.rpcAdminState === undefined ? undefined : createSequencerState(values.rpcAdminState)
  const { sequencerStarted: recorded, sdmPostExecOptIn: optIn } = (await state?.read()) ?? {}
  if (recorded !== undefined && recorded !== active) {
    logger.warn('The admin state file overrides --sequencer.stopped', {
      file: values.rpcAdminState,
      active: recorded,
    })
    active = recorded
  }
  await state?.write({ sequencerStarted: active })
  return {
    active,
    confirmationDepth: values.sequencerL1Confs,
    sealingMarginMs: values.sequencerSealingDuration,
    recoverMode: values.sequencerRecover,
    ...(state === undefined
      ? {}
      : {
          onActiveChange: (sequencerStarted: boolean) => state.write({ sequencerStarted }),
          sdm: { optIn, onChange: (sdmPostExecOptIn: boolean) => state.write({ sdmPostExecOptIn }) },
        }),
  }
}
