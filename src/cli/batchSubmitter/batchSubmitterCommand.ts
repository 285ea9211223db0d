import type { Command } from 'commander'
import { Registry } from 'prom-client'
import {
  ActiveSequencer,
  addReadyPath,
  BatchSubmitter,
  createBatcherMetrics,
  createBatcherRpc,
  createL2Source,
  createLocalSigner,
  createRemoteTxSigner,
  createSubmitterL1,
  createTxManagerMetrics,
  L1Heads,
  type SubmitterL1,
  TxManager,
  type TxSigner,
  watchBalance,
} from '../../batcher/index.ts'
import { createRpcClient, type RpcClient } from '../../jsonRpc/client.ts'
import { createRpcClientMetrics } from '../../jsonRpc/clientMetrics.ts'
import { redact } from '../../jsonRpc/credentials.ts'
import { allowedHostsFor } from '../../jsonRpc/hostCheck.ts'
import { createRpcApp, serveApp } from '../../jsonRpc/httpServer.ts'
import { createRpcDispatcher } from '../../jsonRpc/server.ts'
import { createL1, type L1, type L1Endpoint } from '../../l1/index.ts'
import { systemClock } from '../../lib/clock.ts'
import { UsageError } from '../../lib/errors.ts'
import { createKzg } from '../../lib/kzg/index.ts'
import type { Logger } from '../../lib/logger.ts'
import { untilStopped, whenAborted } from '../../lib/untilAborted.ts'
import { serveMetrics } from '../shared/metricsServer.ts'
import { createProgram, createProgramLogger, type RunContext } from '../shared/program.ts'
import { rpcAccess } from '../shared/rpcAccess.ts'
import { remoteSignerFromFlags } from '../shared/signerFlags.ts'
import { VERSION } from '../shared/version.ts'
import { waitForEndpoint } from '../shared/waitForEndpoint.ts'
import { type BatchSubmitterValues, batchSubmitterFlags } from './batchSubmitterFlags.ts'
import { batcherOptionsOf, endpointsOf, txManagerOptionsOf } from './batchSubmitterOptions.ts'

/** admin_stopBatcher answers when everything is on L1. After this time the stop continues without an answer. */
const ADMIN_CALL_TIMEOUT_MS = 15 * 60_000

async function runBatchSubmitter(values: BatchSubmitterValues, { signal, fail, warnings }: RunContext): Promise<void> {
  const clock = systemClock
  const logger = createProgramLogger(values, signal)
  for (const warning of warnings) logger.warn(warning)
  const endpoints = endpointsOf(values)
  const options = batcherOptionsOf(values)
  const txOptions = txManagerOptionsOf(values)
  const signer = await createSigner(values, logger)

  const registry = new Registry()
  const metrics = createBatcherMetrics(registry, clock.now)
  const observe = createRpcClientMetrics(registry, 'op_batcher_default')
  const clientsOf = (rpc: string, urls: readonly string[]) =>
    urls.map((url) => createRpcClient({ url, observer: observe(rpc) }))
  const l2Clients = clientsOf('l2', endpoints.l2)
  const rollupClients = clientsOf('rollup', endpoints.rollup)
  const otherBuilders = clientsOf(
    'builder',
    endpoints.builders.filter((url) => !endpoints.l2.includes(url)),
  )
  const l1Endpoints = createL1({ clock, logger, registry, observer: observe('l1') }, { urls: endpoints.l1 })
  const sequencer = sequencerOf(l2Clients, rollupClients, values, logger)
  const kzg = createKzg({ clock, logger, signal })
  const clients = [l1Endpoints, ...l2Clients, ...rollupClients, ...otherBuilders]
  const closers: (() => Promise<unknown>)[] = [...clients.map((client) => client.close), kzg.close, signer.close]
  try {
    if (options.dataAvailability !== 'calldata') kzg.start()
    const l1 = createSubmitterL1(l1Endpoints.query, values.networkTimeout)
    const heads = new L1Heads({ l1, clock })
    const chainId = await connectL1({ l1Endpoints, l1, heads, logger, signal }, values.networkTimeout)
    l1Endpoints.run(signal, () => {}).catch(fail)
    const txManager = new TxManager(
      {
        l1,
        heads,
        signer,
        kzg,
        clock,
        logger: logger.child({ service: 'txmgr' }),
        metrics: createTxManagerMetrics(registry),
        onForeign: (tx) => batcher.noteForeign(tx),
      },
      { ...txOptions, chainId },
    )
    const batcher: BatchSubmitter = new BatchSubmitter(
      {
        rollup: sequencer.rollup,
        l1,
        heads,
        l2: createL2Source(sequencer.l2, values.networkTimeout),
        builders: [...l2Clients, ...otherBuilders],
        sender: txManager,
        clock,
        logger,
        metrics,
        onFatal: fail,
      },
      options,
    )
    metrics.info(VERSION)
    void watchBalance({ l1, clock, metrics }, signer.address, signal)

    const rpc = createBatcherRpc({ batcher, txManager, setLogLevel: logger.setLevel })
    const dispatcher = createRpcDispatcher({
      methods: new Map([...(values.rpcEnableAdmin ? rpc.methods : []), ['health_status', () => VERSION]]),
      isChanging: rpc.isChanging,
      isClosedToPages: () => true,
      onUnexpectedError: (method, error) => logger.error('RPC call failed', { method, err: error }),
    })
    const app = createRpcApp({
      dispatcher,
      access: rpcAccess(values, logger),
      version: VERSION,
      allowedHosts: allowedHostsFor(values.rpcAddr),
      timeoutMs: ADMIN_CALL_TIMEOUT_MS,
    })
    addReadyPath(app, { batcher, nowMs: clock.now })
    const rpcServer = await serveApp(app, values.rpcAddr, values.rpcPort, '--rpc.port', { signal })
    closers.unshift(rpcServer.close)
    const metricsServer = values.metricsEnabled
      ? await serveMetrics(registry, values.metricsAddr, values.metricsPort, signal)
      : undefined
    if (metricsServer !== undefined) closers.unshift(metricsServer.close)

    logger.info('Batch submitter started', {
      version: VERSION,
      rpc: rpcServer.url,
      admin: values.rpcEnableAdmin,
      metrics: metricsServer === undefined ? undefined : `${metricsServer.url}/metrics`,
      l1_chain: chainId,
      from: signer.address,
    })
    if (!values.stopped) await batcher.start()
    await new Promise<void>((resolve) => whenAborted(signal, resolve))
    await untilStopped(batcher.shutdown(), signal, clock)
  } finally {
    for (const close of closers) await close()
  }
}

/** Follows one sequencer, or the active sequencer of several. */
function sequencerOf(
  l2Clients: readonly RpcClient[],
  rollupClients: readonly RpcClient[],
  values: BatchSubmitterValues,
  logger: Logger,
): Pick<ActiveSequencer, 'l2' | 'rollup'> {
  const endpoints = l2Clients.flatMap((l2, index) => {
    const rollup = rollupClients[index]
    return rollup === undefined ? [] : [{ l2, rollup }]
  })
  const [only] = endpoints
  if (only !== undefined && endpoints.length === 1) return only
  return new ActiveSequencer({ clock: systemClock, logger }, endpoints, {
    checkIntervalMs: values.activeSequencerCheckDuration,
    timeoutMs: values.networkTimeout,
  })
}

/** The flags must name exactly one of key, mnemonic and remote signer. Throws UsageError. */
async function createSigner(
  values: BatchSubmitterValues,
  logger: Logger,
): Promise<TxSigner & { close(): Promise<void> }> {
  const { privateKey, mnemonic } = values
  const remote = remoteSignerFromFlags(values)
  if (remote === undefined) {
    const local = createLocalSigner({ privateKey, mnemonic, hdPath: values.sequencerHdPath ?? values.hdPath })
    return { ...local, close: async () => {} }
  }
  if (privateKey !== undefined || mnemonic !== undefined)
    throw new UsageError('--signer.endpoint cannot be used together with --private-key or --mnemonic')
  return createRemoteTxSigner({ logger, timeoutMs: values.networkTimeout }, remote)
}

/** Waits for L1, because nothing starts without it. Throws UsageError when the L1 addresses belong to several chains. */
async function connectL1(
  modules: { l1Endpoints: L1; l1: SubmitterL1; heads: L1Heads; logger: Logger; signal: AbortSignal },
  timeoutMs: number,
): Promise<bigint> {
  const { l1Endpoints, l1, heads, logger, signal } = modules
  const url = l1Endpoints
    .states()
    .map((state) => state.url)
    .join(', ')
  let chainId: bigint | undefined
  const check = async (endpoint: L1Endpoint) => {
    const served = await createSubmitterL1((operation) => operation(endpoint), timeoutMs).chainId(signal)
    chainId ??= served
    if (served !== chainId) {
      throw new UsageError(
        `--l1-eth-rpc: ${redact(endpoint.url)} serves chain ${served}, another address serves chain ${chainId}`,
      )
    }
  }
  const connect = async () => {
    await l1Endpoints.check(check)
    await heads.read(signal)
    return l1.chainId(signal)
  }
  const endpoint = { name: `the L1 at ${url}`, flagName: 'l1-eth-rpc', url }
  return waitForEndpoint(endpoint, connect, { clock: systemClock, logger, signal })
}

export const batchSubmitterProgram = {
  name: 'devium-batch-submitter',
  envPrefixes: ['DEVIUM_BATCH_SUBMITTER', 'OP_BATCHER'],
  flags: batchSubmitterFlags,
}

export function createBatchSubmitterCommand(): Command {
  return createProgram({
    ...batchSubmitterProgram,
    description: 'Batch submitter of an OP Stack chain: posts the blocks of the sequencer to L1',
    version: VERSION,
    run: runBatchSubmitter,
  })
}
