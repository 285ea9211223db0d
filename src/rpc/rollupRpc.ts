import { z } from 'zod'
import { createRpcDispatcher, type RpcDispatcher } from '../jsonRpc/server.ts'
import { type JsonValue, RPC_METHOD_NOT_FOUND } from '../jsonRpc/types.ts'
import type { Clock } from '../lib/clock.ts'
import type { Logger, RootLogger } from '../lib/logger.ts'
import type { P2pApi } from '../p2p/base/api.ts'
import type { RollupNodeApi } from '../rollup/node/api.ts'
import { adminMethods } from './adminMethods.ts'
import { NodeHistory } from './history/nodeHistory.ts'
import { liveMethods } from './live/liveMethods.ts'
import { defineMethod, type RpcMethod, toHandlers } from './method.ts'
import { openRpcDocument } from './openRpc.ts'
import { p2pMethods } from './p2pMethods.ts'
import { result } from './results.ts'
import { deviumMethods, optimismMethods, type ReadBatcher, type TestnetControl } from './rollupMethods.ts'
import type { RpcMetrics } from './rpcMetrics.ts'

export interface RollupRpcModules {
  node: RollupNodeApi
  /** Absent with `--p2p.disable`. The p2p methods are then unknown, as in op-node. */
  p2p?: P2pApi | undefined
  clock: Clock
  logger: Logger & Pick<RootLogger, 'setLevel'>
  metrics?: RpcMetrics | undefined
  /** Reads the status of the batch submitter; absent if none is configured. */
  batcherStatus?: ReadBatcher | undefined
  /** Absent if the node belongs to no testnet with commands. */
  testnet?: TestnetControl | undefined
}

export interface RollupRpcOptions {
  version: string
  /** Name of the chain, if it has one. */
  network?: string | undefined
  enableAdmin: boolean
}

/** The rollup node's RPC: the method table and its dispatcher. The caller runs `history`. */
export function createRollupRpc(
  modules: RollupRpcModules,
  options: RollupRpcOptions,
): { methods: RpcMethod[]; dispatcher: RpcDispatcher; history: NodeHistory } {
  const { node, p2p, clock, logger, metrics } = modules
  const peerId = p2p === undefined ? undefined : async () => (await p2p.self()).peerID
  const history = new NodeHistory({ node, p2p, clock, logger })
  const all: RpcMethod[] = [
    ...deviumMethods(
      { node, peerId, batcherStatus: modules.batcherStatus, testnet: modules.testnet, history },
      options,
    ),
    ...optimismMethods(node, options.version),
    ...(p2p === undefined ? [] : p2pMethods(p2p)),
    ...liveMethods({ node, p2p, clock, logger }),
    ...adminMethods(node, logger),
    discoverMethod(() => openRpcDocument(methods, options.version)),
  ]
  const methods = all.filter(({ admin }) => options.enableAdmin || !admin)
  const named = (picked: (method: RpcMethod) => boolean) => new Set(methods.filter(picked).map(({ name }) => name))
  const changing = named(({ changes }) => changes)
  const closedToPages = named(({ changes, admin }) => changes || admin)
  const dispatcher = createRpcDispatcher({
    methods: toHandlers(methods),
    isChanging: (method) => changing.has(method),
    isClosedToPages: (method) => closedToPages.has(method),
    onCall: (method, durationMs, error, contents) => {
      metrics?.observe(method, durationMs, error?.rpcCode, contents)
      if (error !== undefined && error.rpcCode !== RPC_METHOD_NOT_FOUND)
        logger.debug('RPC call failed', { method, err: error })
    },
    onUnexpectedError: (method, error) => logger.error('RPC handler failed unexpectedly', { method, err: error }),
  })
  return { methods, dispatcher, history }
}

export function discoverMethod(document: () => { [key: string]: JsonValue }) {
  return defineMethod({
    name: 'rpc_discover',
    params: [],
    result: result('object: an OpenRPC document', z.record(z.string(), z.unknown())),
    description: 'Describe the served methods',
    handle: document,
  })
}
