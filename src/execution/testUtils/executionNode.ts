import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { RpcClient } from '../../jsonRpc/client.ts'
import { createRpcApp, serveApp } from '../../jsonRpc/httpServer.ts'
import { createRpcDispatcher } from '../../jsonRpc/server.ts'
import { createPatientClient } from '../../jsonRpc/testUtils/patientClient.ts'
import { type Clock, ManualClock } from '../../lib/clock.ts'
import { silentLogger } from '../../lib/logger.ts'
import type { Work } from '../../lib/yieldToLoop.ts'
import type { Chain } from '../chain/opChain.ts'
import { createEngineMethods } from '../engineApi/index.ts'
import { initChain, openChain } from '../index.ts'
import { createEthMethods, DEFAULT_RPC_OPTIONS, type MethodTable, type RpcModules } from '../rpc/index.ts'
import type { SdmOptIn } from '../sdmOptIn.ts'
import { TxPool } from '../txPool/index.ts'

/** A busy machine takes many seconds to start a process. */
const PATIENCE_MS = 100_000

export const TEST_JWT_SECRET = new Uint8Array(32).fill(7)

export interface ExecutionNode {
  datadir: string
  chain: Chain
  pool: TxPool
  eth: RpcClient
  /** Options of `eth`. */
  methods: MethodTable
  /** Options of `eth`. */
  url: string
  /** WebSockets with the methods of `eth`. */
  wsUrl: string
  engine: RpcClient
  sdm: SdmOptIn
  /** Unexpected errors. */
  unexpected: unknown[]
  close(): Promise<void>
}

export interface ExecutionNodeOptions {
  /** By default time stands still: a block waits for the pool's transactions, however slow the machine is. */
  clock?: Clock
  sequencer?: RpcModules['sequencer']
  conditionalLookupsPerSecond?: number
  evmTimeoutMs?: number
}

/** An execution client on a fresh data directory, served over real HTTP. */
export async function startExecutionNode(genesis: unknown, options?: ExecutionNodeOptions): Promise<ExecutionNode> {
  const datadir = await mkdtemp(join(tmpdir(), 'devium-execution-'))
  await initChain(datadir, genesis)
  const node = await openExecutionNode(datadir, options)
  const close = async () => {
    await node.close()
    await rm(datadir, { recursive: true, force: true })
  }
  return { ...node, close }
}

/** An execution client on the data directory of a chain, served over real HTTP. */
export async function openExecutionNode(datadir: string, options: ExecutionNodeOptions = {}): Promise<ExecutionNode> {
  const opened = new AsyncDisposableStack()
  const modules = { logger: silentLogger, clock: options.clock ?? new ManualClock(Date.now()) }
  const chain = await openChain(datadir, modules)
  opened.defer(() => chain.close())
  const pool = new TxPool({ chain, ...modules })
  pool.start()
  opened.defer(() => pool.stop())
  const sdm: SdmOptIn = { isOn: false }
  const engineMethods = createEngineMethods({ chain, pool, sdm, ...modules }, { version: 'test' })
  opened.defer(() => engineMethods.close())
  const rpcOptions = { ...DEFAULT_RPC_OPTIONS, evmTimeoutMs: options.evmTimeoutMs ?? PATIENCE_MS }
  const ethMethods = createEthMethods(
    { chain, pool, sdm, ...modules, sequencer: options.sequencer },
    {
      ...rpcOptions,
      conditionalLookupsPerSecond: options.conditionalLookupsPerSecond,
      clientVersion: 'devium-geth/test',
      networkId: chain.config.chainId,
      datadir,
      admitToPool: options.sequencer === undefined,
    },
  )
  const unexpected: unknown[] = []
  const dispatcher = (methods: object, work: Work = 'answer') =>
    createRpcDispatcher({
      methods: new Map(Object.entries(methods)),
      work,
      onUnexpectedError: (_, error) => unexpected.push(error),
    })
  const open = (url: string, jwtSecret?: Uint8Array) => {
    const client = createPatientClient({ url, ...(jwtSecret === undefined ? {} : { jwtSecret }) })
    opened.defer(() => client.close())
    return client
  }
  const ethDispatcher = dispatcher(ethMethods)
  const server = await serveApp(createRpcApp({ dispatcher: ethDispatcher }), '127.0.0.1', 0, 'test', {
    webSockets: { dispatcher: ethDispatcher, allowedOrigins: [], notification: 'eth_subscription' },
  })
  opened.defer(() => server.close())
  const authApp = createRpcApp({
    dispatcher: dispatcher({ ...ethMethods, ...engineMethods.methods }, 'block'),
    jwtSecret: TEST_JWT_SECRET,
  })
  const auth = await serveApp(authApp, '127.0.0.1', 0, 'test')
  opened.defer(() => auth.close())
  return {
    datadir,
    chain,
    pool,
    eth: open(server.url),
    methods: ethMethods,
    url: server.url,
    wsUrl: server.url.replace('http', 'ws'),
    engine: open(auth.url, TEST_JWT_SECRET),
    sdm,
    unexpected,
    close: () => opened.disposeAsync(),
  }
}
