import { createRpcDispatcher } from '../../jsonRpc/server.ts'
import { type Clock, systemClock } from '../../lib/clock.ts'
import { silentLogger } from '../../lib/logger.ts'
import { DEFAULT_RPC_OPTIONS } from '../rpc/index.ts'
import { RpcProcesses, type RpcProcessesOptions } from '../rpcProcess/rpcProcesses.ts'
import type { ExecutionNode } from './executionNode.ts'

export interface ServedNode extends AsyncDisposable {
  processes: RpcProcesses
  /** HTTP and WebSockets. */
  url: string
  port: number
}

/** Real RPC processes of a node. This process is their engine process. */
export async function serveNode(
  node: ExecutionNode,
  {
    evmTimeoutMs = 100_000,
    clock = systemClock,
    ...options
  }: Partial<RpcProcessesOptions> & { evmTimeoutMs?: number; clock?: Clock } = {},
): Promise<ServedNode> {
  const methods = Object.keys(node.methods)
  const processes = new RpcProcesses(
    {
      chain: node.chain,
      pool: node.pool,
      dispatcher: createRpcDispatcher({ methods: new Map(Object.entries(node.methods)) }),
      clock,
      logger: silentLogger,
    },
    {
      workers: 1,
      rpc: {
        ...DEFAULT_RPC_OPTIONS,
        clientVersion: 'devium-geth/test',
        networkId: node.chain.config.chainId,
        datadir: node.datadir,
        admitToPool: true,
        callGasCap: 0n,
        evmTimeoutMs,
      },
      maxBatchSize: 1_000,
      ports: { http: { http: { methods, version: 'v1' }, webSockets: { methods, allowedOrigins: [] } } },
      isMeasured: true,
      ...options,
    },
  )
  const { url, port } = await processes.listen('http', '127.0.0.1', 0, 'test')
  return { processes, url, port, [Symbol.asyncDispose]: () => processes.close() }
}
