import { once } from 'node:events'
import { join, resolve } from 'node:path'
import { createCallService } from '../../execution/callProcess/callProcesses.ts'
import { createEngineMethods } from '../../execution/engineApi/index.ts'
import { openChain, type SdmOptIn } from '../../execution/index.ts'
import { createEthMethods, DEFAULT_RPC_OPTIONS, namespacesOf, selectNamespaces } from '../../execution/rpc/index.ts'
import { PoolJournal, TxPool } from '../../execution/txPool/index.ts'
import type { RpcContext } from '../../jsonRpc/callContext.ts'
import { createRpcClient } from '../../jsonRpc/client.ts'
import { createRpcApp, createUpgradeApp, serveApp } from '../../jsonRpc/httpServer.ts'
import { createRpcDispatcher, type RpcHandler } from '../../jsonRpc/server.ts'
import { systemClock } from '../../lib/clock.ts'
import { describeError, UsageError } from '../../lib/errors.ts'
import { loadJwtSecret } from '../../lib/jwt.ts'
import type { Logger, LogLevel } from '../../lib/logger.ts'
import type { Work } from '../../lib/turns.ts'
import type { FlagValues } from '../shared/flags.ts'
import { createProgramLogger, type RunContext } from '../shared/program.ts'
import { VERSION } from '../shared/version.ts'
import { checkCompatFlags } from './gethCompatFlags.ts'
import type { gethFlags } from './gethFlags.ts'
import type { GethMetricsModules } from './gethMetrics.ts'
import { logHeads } from './headLog.ts'

export type GethValues = FlagValues<typeof gethFlags>

/** go-ethereum's limit for bodies on the Engine API port: payloads are large. */
const ENGINE_BODY_BYTES = 128 * 1024 * 1024
const ENGINE_NAMESPACES = ['engine', 'eth', 'net', 'web3', 'debug', 'txpool', 'miner', 'admin']
/** As geth has it. */
const MIN_REJOURNAL_MS = 1_000
/** geth's `--verbosity`. */
const LEVELS: readonly LogLevel[] = ['crit', 'error', 'warn', 'info', 'debug', 'trace']

/** The whole execution client, assembled. What was opened is closed in reverse order, also when starting fails. */
export async function runGeth(
  values: GethValues,
  compatValues: Readonly<Record<string, unknown>>,
  { signal, warnings }: RunContext,
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
      { logger: logger.child({ module: 'chain' }), clock, signal },
      { gcMode: values.gcMode },
    )
    opened.defer(() => chain.close())
    const jwtSecret = loadJwtSecret(values.jwtSecret ?? join(values.datadir, 'geth', 'jwtsecret'), { create: true })
    const pool = new TxPool({ chain, logger: logger.child({ module: 'txpool' }), clock }, poolOptions(values))
    pool.start()
    opened.defer(() => pool.stop())
    if (values.poolJournal !== '') {
      const options = {
        path: resolve(values.datadir, 'geth', values.poolJournal),
        rejournalMs: Math.max(values.poolRejournal, MIN_REJOURNAL_MS),
      }
      const journal = new PoolJournal({ pool, logger: logger.child({ module: 'txpool' }), clock }, options)
      await journal.start()
      opened.defer(() => journal.stop())
    }
    const sdm: SdmOptIn = { isOn: values.sdmOptIn }
    const engine = createEngineMethods(
      { chain, pool, sdm, logger: logger.child({ module: 'engine' }), clock },
      { version: VERSION },
    )
    opened.defer(() => engine.close())
    const sequencer = values.sequencerHttp === undefined ? undefined : createRpcClient({ url: values.sequencerHttp })
    if (sequencer !== undefined) opened.defer(() => sequencer.close())
    const rpcOptions = {
      ...DEFAULT_RPC_OPTIONS,
      clientVersion: `devium-geth/${VERSION}/${process.platform}-${process.arch}/node${process.versions.node}`,
      networkId: values.networkId === undefined ? chain.config.chainId : BigInt(values.networkId),
      datadir: values.datadir,
      admitToPool: values.enableTxPoolAdmission ?? sequencer === undefined,
      callGasCap: values.rpcGasCap,
      evmTimeoutMs: values.rpcEvmTimeout,
      txFeeCapWei: BigInt(Math.round(values.rpcTxFeeCap * 1e9)) * 10n ** 9n,
      allowUnprotected: values.rpcAllowUnprotected,
      conditionalLookupsPerSecond: values.conditionalEnabled ? values.conditionalRate : undefined,
      minSuggestedTipWei: values.gpoMinSuggested,
      maxSuggestedTipWei: values.gpoMaxPrice,
      maxLogRangeBlocks: values.rpcRangeLimit === 0 ? Number.POSITIVE_INFINITY : values.rpcRangeLimit,
    }
    const rpcLogger = logger.child({ module: 'rpc' })
    const calls = createCallService({ chain, clock, logger: rpcLogger, signal }, rpcOptions)
    opened.defer(() => calls.close())
    const methods = createEthMethods({ chain, pool, sdm, logger: rpcLogger, clock, calls, sequencer }, rpcOptions)
    const metrics = values.metrics ? await createMetrics({ chain, pool, calls, clock }, values.datadir) : undefined
    const dispatch = (table: Map<string, RpcHandler>, work: Work) =>
      createRpcDispatcher({
        methods: table,
        work,
        maxBatchSize: values.rpcBatchLimit,
        ...(metrics === undefined ? {} : { onCall: metrics.onCall }),
        onUnexpectedError: (method, error) => {
          // It was ended with the rest.
          if (!signal.aborted) logger.error('RPC method failed unexpectedly', { method, err: describeError(error) })
        },
      })

    const dispatchApi = (flag: string, api: string[]) => {
      const table = selectNamespaces(methods, servedNamespaces(flag, api, namespacesOf(methods), logger))
      const dispatcher = dispatch(table, 'answer')
      const served = { methods: [...table.keys()], maxBatchSize: values.rpcBatchLimit }
      const answerLarge = (body: Uint8Array, context: RpcContext) => calls.answerBody(body, context, dispatcher, served)
      return { dispatcher, answerLarge }
    }
    const webSockets = values.ws
      ? {
          ...dispatchApi('--ws.api', values.wsApi),
          allowedOrigins: values.wsOrigins,
          notification: 'eth_subscription',
          ...(metrics === undefined ? {} : { onConnections: metrics.onWebSockets }),
          onDropped: (reason: string) => rpcLogger.warn('A WebSocket client was dropped', { reason }),
        }
      : undefined
    const isOnePort = values.http && values.httpPort === values.wsPort && values.httpAddr === values.wsAddr
    const http = values.http
      ? await serveApp(
          createRpcApp({
            ...dispatchApi('--http.api', values.httpApi),
            allowedHosts: values.httpVhosts,
            version: VERSION,
            ...(values.httpCorsDomain.length === 0 ? {} : { corsOrigins: values.httpCorsDomain }),
          }),
          hostOf(values.httpAddr),
          values.httpPort,
          '--http.port',
          { webSockets: isOnePort ? webSockets : undefined, signal },
        )
      : undefined
    if (http !== undefined) opened.defer(() => http.close())
    const ws =
      isOnePort || webSockets === undefined
        ? undefined
        : await serveApp(createUpgradeApp(), hostOf(values.wsAddr), values.wsPort, '--ws.port', { webSockets, signal })
    if (ws !== undefined) opened.defer(() => ws.close())
    const engineMethods = selectNamespaces({ ...methods, ...engine.methods }, ENGINE_NAMESPACES)
    const auth = await serveApp(
      createRpcApp({
        dispatcher: dispatch(engineMethods, 'block'),
        allowedHosts: values.authVhosts,
        jwtSecret,
        maxBodyBytes: ENGINE_BODY_BYTES,
      }),
      hostOf(values.authAddr),
      values.authPort,
      '--authrpc.port',
      { signal },
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

/** Loaded only when asked for: the metrics library measures the event loop from its first moment on. */
async function createMetrics(modules: GethMetricsModules, datadir: string) {
  const { createGethMetrics } = await import('./gethMetrics.ts')
  const { serveMetrics } = await import('../shared/metricsServer.ts')
  const { registry, onCall, onWebSockets } = createGethMetrics(modules, {
    version: VERSION,
    databasePath: join(datadir, 'geth', 'chaindata'),
  })
  const serve = (host: string, port: number, signal: AbortSignal) => serveMetrics(registry, host, port, signal)
  return { onCall, onWebSockets, serve }
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
  if (values.sequencerHttp !== undefined && !/^https?:\/\//.test(values.sequencerHttp)) {
    throw new UsageError('--rollup.sequencerhttp must be an http or https URL')
  }
  for (const warning of warnings) logger.warn(warning)
  if (ignored.length > 0) {
    logger.warn('Flags that have no meaning for this client are ignored', { flags: ignored.join(' ') })
  }
}

function servedNamespaces(
  flag: string,
  api: readonly string[],
  known: ReadonlySet<string>,
  logger: Logger,
): readonly string[] {
  // op-geth's usual command lines name it, and geth answers engine_ only with authentication too.
  if (api.includes('engine')) logger.warn(`${flag}: engine is served on --authrpc.port only`)
  return api.filter((namespace) => namespace !== 'engine' && known.has(namespace))
}

function poolOptions(values: GethValues) {
  return {
    priceLimitWei: values.poolPriceLimit,
    priceBumpPercent: BigInt(values.poolPriceBump),
    globalSlots: values.poolGlobalSlots,
    globalQueue: values.poolGlobalQueue,
    accountQueue: values.poolAccountQueue,
    lifetimeMs: values.poolLifetime,
    minBlockTipWei: values.poolNoLocals ? values.minerGasPrice : 0n,
    effectiveGasLimit: values.minerEffectiveGasLimit,
  }
}

/** Go binds `localhost` to IPv4, and so do the configurations written for it. */
function hostOf(address: string): string {
  return address === 'localhost' ? '127.0.0.1' : address
}
