import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { join, resolve } from 'node:path'
import { createEngineMethods } from '../../execution/engineApi/index.ts'
import { openChain, type SdmOptIn } from '../../execution/index.ts'
import {
  createEthMethods,
  DEFAULT_RPC_OPTIONS,
  type MethodTable,
  namespacesOf,
  selectNamespaces,
} from '../../execution/rpc/index.ts'
import type { PortOptions } from '../../execution/rpcProcess/messages.ts'
import { RpcProcesses } from '../../execution/rpcProcess/rpcProcesses.ts'
import { PoolJournal, TxPool } from '../../execution/txPool/index.ts'
import { createRpcClient } from '../../jsonRpc/client.ts'
import { createRpcApp, serveApp } from '../../jsonRpc/httpServer.ts'
import { createRpcDispatcher, type RpcDispatcherOptions, type RpcHandler } from '../../jsonRpc/server.ts'
import { systemClock } from '../../lib/clock.ts'
import { describeError, UsageError } from '../../lib/errors.ts'
import { loadJwtSecret } from '../../lib/jwt.ts'
import type { Logger, LogLevel } from '../../lib/logger.ts'
import type { FlagValues } from '../shared/flags.ts'
import { createProgramLogger, type RunContext } from '../shared/program.ts'
import { VERSION } from '../shared/version.ts'
import { checkCompatFlags } from './gethCompatFlags.ts'
import type { gethFlags } from './gethFlags.ts'
import type { GethMetricsModules } from './gethMetrics.ts'
import { logHeads } from './headLog.ts'

export type GethValues = FlagValues<typeof gethFlags>

/** go-ethereum's body limit on the Engine API port, since payloads are large. */
const ENGINE_BODY_BYTES = 128 * 1024 * 1024
const ENGINE_NAMESPACES = ['engine', 'eth', 'net', 'web3', 'debug', 'txpool', 'miner', 'admin']
/** geth's minimum. */
const MIN_REJOURNAL_MS = 1_000
/** geth's `--verbosity`, by index. */
const LEVELS: readonly LogLevel[] = ['crit', 'error', 'warn', 'info', 'debug', 'trace']

/** Assembles the execution client. Opened resources are closed in reverse order, also when the start fails. */
export async function runGeth(
  values: GethValues,
  compatValues: Readonly<Record<string, unknown>>,
  { signal, fail, warnings }: RunContext,
): Promise<void> {
  const clock = systemClock
  const logger = createProgramLogger(
    values.verbosity === undefined ? values : { ...values, logLevel: LEVELS[Number(values.verbosity)] ?? 'info' },
    signal,
  )
  checkFlags(values, compatValues, [...warnings], logger)

  const opened = new AsyncDisposableStack()
  try {
    const chain = await openChain(
      values.datadir,
      { logger: logger.child({ module: 'chain' }), clock, signal, onWriteError: fail },
      { gcMode: values.gcmode },
    )
    opened.defer(() => chain.close())
    const jwtSecret = loadJwtSecret(values.authrpcJwtsecret ?? join(values.datadir, 'geth', 'jwtsecret'), {
      create: true,
    })
    const pool = new TxPool({ chain, logger: logger.child({ module: 'txpool' }), clock }, poolOptions(values))
    pool.start()
    opened.defer(() => pool.stop())
    if (values.txpoolJournal !== '') {
      const options = {
        path: resolve(values.datadir, 'geth', values.txpoolJournal),
        rejournalMs: Math.max(values.txpoolRejournal, MIN_REJOURNAL_MS),
      }
      const journal = new PoolJournal({ pool, logger: logger.child({ module: 'txpool' }), clock }, options)
      await journal.start()
      opened.defer(() => journal.stop())
    }
    const sdm: SdmOptIn = { isOn: values.rollupOperatorSdmOptIn }
    const engine = createEngineMethods(
      { chain, pool, sdm, logger: logger.child({ module: 'engine' }), clock },
      { version: VERSION },
    )
    opened.defer(() => engine.close())
    const sequencer =
      values.rollupSequencerhttp === undefined ? undefined : createRpcClient({ url: values.rollupSequencerhttp })
    if (sequencer !== undefined) opened.defer(() => sequencer.close())
    const rpcOptions = {
      ...DEFAULT_RPC_OPTIONS,
      clientVersion: `devium-geth/${VERSION}/${process.platform}-${process.arch}/node${process.versions.node}`,
      networkId: values.networkid === undefined ? chain.config.chainId : BigInt(values.networkid),
      datadir: values.datadir,
      admitToPool: values.rollupEnabletxpooladmission ?? sequencer === undefined,
      callGasCap: values.rpcGascap,
      evmTimeoutMs: values.rpcEvmtimeout,
      txFeeCapWei: BigInt(Math.round(values.rpcTxfeecap * 1e9)) * 10n ** 9n,
      allowUnprotected: values.rpcAllowUnprotectedTxs,
      conditionalLookupsPerSecond: values.rollupSequencertxconditionalenabled
        ? values.rollupSequencertxconditionalcostratelimit
        : undefined,
      minSuggestedTipWei: values.gpoMinsuggestedpriorityfee,
      maxSuggestedTipWei: values.gpoMaxprice,
      maxLogRangeBlocks: values.rpcRangelimit === 0 ? Number.POSITIVE_INFINITY : values.rpcRangelimit,
    }
    const rpcLogger = logger.child({ module: 'rpc' })
    const methods = createEthMethods({ chain, pool, sdm, logger: rpcLogger, clock, sequencer }, rpcOptions)
    const dispatch = (table: ReadonlyMap<string, RpcHandler>, options: Partial<RpcDispatcherOptions>) =>
      createRpcDispatcher({
        methods: table,
        maxBatchSize: values.rpcBatchRequestLimit,
        onUnexpectedError: (method, error) => {
          // The error is expected during a stop.
          if (!signal.aborted) logger.error('RPC method failed unexpectedly', { method, err: describeError(error) })
        },
        ...options,
      })
    const isOnePort = values.http && values.httpPort === values.wsPort && values.httpAddr === values.wsAddr
    const rpcProcesses = new RpcProcesses(
      { chain, pool, dispatcher: dispatch(new Map(Object.entries(methods)), {}), clock, logger: rpcLogger, signal },
      {
        workers: values.rpcWorkers === 0 ? Math.max(1, availableParallelism() - 1) : values.rpcWorkers,
        rpc: rpcOptions,
        maxBatchSize: values.rpcBatchRequestLimit,
        ports: portsOf(values, isOnePort, methods, logger),
        isMeasured: values.metrics,
      },
    )
    opened.defer(() => rpcProcesses.close())
    const http = values.http
      ? await rpcProcesses.listen('http', hostOf(values.httpAddr), values.httpPort, '--http.port')
      : undefined
    const ws =
      isOnePort || !values.ws
        ? undefined
        : await rpcProcesses.listen('ws', hostOf(values.wsAddr), values.wsPort, '--ws.port')
    const metrics = values.metrics
      ? await createMetrics({ chain, pool, rpcProcesses, clock }, values.datadir)
      : undefined
    const engineMethods = selectNamespaces({ ...methods, ...engine.methods }, ENGINE_NAMESPACES)
    const guarded = {
      dispatcher: dispatch(engineMethods, {
        work: 'block',
        ...(metrics === undefined ? {} : { onCall: metrics.onCall }),
      }),
      allowedHosts: values.authrpcVhosts,
      jwtSecret,
    }
    const auth = await serveApp(
      createRpcApp({ ...guarded, maxBodyBytes: ENGINE_BODY_BYTES }),
      hostOf(values.authrpcAddr),
      values.authrpcPort,
      '--authrpc.port',
      {
        signal,
        webSockets: {
          ...guarded,
          allowedOrigins: [],
          notification: 'eth_subscription',
          maxMessageBytes: ENGINE_BODY_BYTES,
          onDropped: (reason) => rpcLogger.warn('A WebSocket client of the Engine API was dropped', { reason }),
        },
      },
    )
    opened.defer(() => auth.close())
    const metricsServer = await metrics?.serve(hostOf(values.metricsAddr), values.metricsPort, signal)
    if (metricsServer !== undefined) opened.defer(() => metricsServer.close())

    opened.defer(logHeads({ chain, logger, clock }))
    const head = chain.head()
    logger.info('devium-geth started', {
      version: VERSION,
      chain: chain.config.chainId,
      http: http?.url ?? 'off',
      ws: values.ws ? (ws ?? http)?.url.replace('http:', 'ws:') : undefined,
      engine: auth.url,
      metrics: metricsServer?.url,
      head: head.number,
      hash: head.hash,
      sequencer: sequencer?.url,
    })
    if (!signal.aborted) await once(signal, 'abort')
  } finally {
    await opened.disposeAsync()
  }
}

/** Loaded only with `--metrics`, because the metrics library measures the event loop as soon as it is loaded. */
async function createMetrics(modules: GethMetricsModules, datadir: string) {
  const { createGethMetrics } = await import('./gethMetrics.ts')
  const { serveMetrics } = await import('../shared/metricsServer.ts')
  const { registry, onCall, scrape } = createGethMetrics(modules, {
    version: VERSION,
    databasePath: join(datadir, 'geth', 'chaindata'),
  })
  const scraped = { metrics: scrape, contentType: registry.contentType }
  const serve = (host: string, port: number, signal: AbortSignal) => serveMetrics(scraped, host, port, signal)
  return { onCall, serve }
}

function checkFlags(
  values: GethValues,
  compatValues: Readonly<Record<string, unknown>>,
  warnings: string[],
  logger: Logger,
): void {
  const { ignored, refused } = checkCompatFlags(compatValues)
  const [first] = refused
  if (first !== undefined) throw new UsageError(first)
  if (values.rollupSequencerhttp !== undefined && !/^https?:\/\//.test(values.rollupSequencerhttp)) {
    throw new UsageError('--rollup.sequencerhttp must be an http or https URL')
  }
  for (const warning of warnings) logger.warn(warning)
  if (ignored.length > 0) {
    logger.warn('Ignored flags that have no effect in this client', { flags: ignored.join(' ') })
  }
}

/** Methods and limits of the public ports. */
function portsOf(
  values: GethValues,
  isOnePort: boolean,
  methods: MethodTable,
  logger: Logger,
): { http?: PortOptions; ws?: PortOptions } {
  const namesOf = (flag: string, api: string[]) => [
    ...selectNamespaces(methods, servedNamespaces(flag, api, namespacesOf(methods), logger)).keys(),
  ]
  const webSockets = values.ws
    ? { methods: namesOf('--ws.api', values.wsApi), allowedOrigins: values.wsOrigins }
    : undefined
  const http = values.http
    ? {
        methods: namesOf('--http.api', values.httpApi),
        allowedHosts: values.httpVhosts,
        version: VERSION,
        readyAgeS: values.rpcReadyAge / 1000,
        ...(values.httpCorsdomain.length === 0 ? {} : { corsOrigins: values.httpCorsdomain }),
      }
    : undefined
  return {
    ...(http === undefined ? {} : { http: { http, webSockets: isOnePort ? webSockets : undefined } }),
    ...(webSockets === undefined || isOnePort ? {} : { ws: { webSockets } }),
  }
}

function servedNamespaces(
  flag: string,
  api: readonly string[],
  known: ReadonlySet<string>,
  logger: Logger,
): readonly string[] {
  // op-geth's usual command lines list engine here. geth, too, serves engine_ only on the authenticated port.
  if (api.includes('engine')) logger.warn(`${flag}: only --authrpc.port serves the engine namespace`)
  return api.filter((namespace) => namespace !== 'engine' && known.has(namespace))
}

function poolOptions(values: GethValues) {
  return {
    priceLimitWei: values.txpoolPricelimit,
    priceBumpPercent: BigInt(values.txpoolPricebump),
    globalSlots: values.txpoolGlobalslots,
    globalQueue: values.txpoolGlobalqueue,
    accountQueue: values.txpoolAccountqueue,
    lifetimeMs: values.txpoolLifetime,
    minBlockTipWei: values.txpoolNolocals ? values.minerGasprice : 0n,
    effectiveGasLimit: values.minerEffectivegaslimit,
  }
}

/** Go binds `localhost` to IPv4, and op-geth's configurations rely on it. */
function hostOf(address: string): string {
  return address === 'localhost' ? '127.0.0.1' : address
}
