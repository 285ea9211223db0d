import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../lib/clock.ts'
import { createRpcClient, type RpcClient } from '../../lib/jsonRpc/client.ts'
import { createRpcApp, serveApp } from '../../lib/jsonRpc/httpServer.ts'
import { createRpcDispatcher } from '../../lib/jsonRpc/server.ts'
import { silentLogger } from '../../lib/logger.ts'
import type { Chain } from '../chain/types.ts'
import { createEngineMethods } from '../engineApi/index.ts'
import { initChain, openChain } from '../index.ts'
import { createEthMethods, DEFAULT_RPC_OPTIONS, type RpcModules } from '../rpc/index.ts'
import { TxPool } from '../txPool/index.ts'

export const TEST_JWT_SECRET = new Uint8Array(32).fill(7)

export interface ExecutionNode {
  chain: Chain
  pool: TxPool
  eth: RpcClient
  engine: RpcClient
  /** Errors that nobody meant to throw. */
  unexpected: unknown[]
  close(): Promise<void>
}

/** An execution client on a fresh data directory, served over real HTTP. */
export async function startExecutionNode(
  genesis: unknown,
  options: { sequencer?: RpcModules['sequencer'] } = {},
): Promise<ExecutionNode> {
  const datadir = await mkdtemp(join(tmpdir(), 'devium-execution-'))
  const opened = new AsyncDisposableStack()
  opened.defer(() => rm(datadir, { recursive: true, force: true }))
  await initChain(datadir, genesis)
  const modules = { logger: silentLogger, clock: systemClock }
  const chain = await openChain(datadir, modules)
  opened.defer(() => chain.close())
  const pool = new TxPool({ chain, ...modules })
  pool.start()
  opened.defer(() => pool.stop())
  const engineMethods = createEngineMethods({ chain, pool, ...modules }, { version: 'test' })
  opened.defer(() => engineMethods.close())
  const ethMethods = createEthMethods(
    { chain, pool, ...modules, sequencer: options.sequencer },
    {
      ...DEFAULT_RPC_OPTIONS,
      clientVersion: 'devium-geth/test',
      networkId: chain.config.chainId,
      datadir,
      admitToPool: options.sequencer === undefined,
    },
  )
  const unexpected: unknown[] = []
  const dispatcher = (methods: object) =>
    createRpcDispatcher({
      methods: new Map(Object.entries(methods)),
      onUnexpectedError: (_, error) => unexpected.push(error),
    })
  const serve = async (app: ReturnType<typeof createRpcApp>, jwtSecret?: Uint8Array) => {
    const server = await serveApp(app, '127.0.0.1', 0, 'test')
    opened.defer(() => server.close())
    const client = createRpcClient({ url: server.url, ...(jwtSecret === undefined ? {} : { jwtSecret }) })
    opened.defer(() => client.close())
    return client
  }
  return {
    chain,
    pool,
    eth: await serve(createRpcApp({ dispatcher: dispatcher(ethMethods) })),
    engine: await serve(
      createRpcApp({
        dispatcher: dispatcher({ ...ethMethods, ...engineMethods.methods }),
        jwtSecret: TEST_JWT_SECRET,
      }),
      TEST_JWT_SECRET,
    ),
    unexpected,
    close: () => opened.disposeAsync(),
  }
}
