import type { z } from 'zod'
import { createRpcClient, type RequestOptions, type RpcClient } from '../../jsonRpc/client.ts'
import { redact } from '../../jsonRpc/credentials.ts'
import { createWebSocketRpcClient } from '../../jsonRpc/webSocketClient.ts'
import { UsageError } from '../../lib/errors.ts'
import type { adminMethods } from '../adminMethods.ts'
import type { liveMethods } from '../live/liveMethods.ts'
import type { RpcMethod } from '../method.ts'
import type { p2pMethods } from '../p2pMethods.ts'
import type { Param, WireValues } from '../params.ts'
import type { deviumMethods, optimismMethods } from '../rollupMethods.ts'
import type { discoverMethod } from '../rollupRpc.ts'
import type { Events, Topic } from '../schemas/events.ts'

type Rows =
  | ReturnType<
      typeof deviumMethods | typeof optimismMethods | typeof p2pMethods | typeof liveMethods | typeof adminMethods
    >[number]
  | ReturnType<typeof discoverMethod>

/**
 * All methods of the rollup node by name, with parameters in wire form and the result. Derived from the method table.
 */
export type NodeMethods = {
  [Row in Rows as Row['name']]: Row extends RpcMethod<
    string,
    infer P extends readonly Param<unknown, unknown>[],
    infer S
  >
    ? { params: WireValues<P>; result: z.output<S> }
    : never
}
export type NodeMethod = keyof NodeMethods

export interface NodeClientOptions {
  /**
   * http(s) or ws(s), with user and password if required. With http, subscriptions open a WebSocket on the same port.
   */
  url: string
  /** Bearer token, if the node requires one. */
  token?: string | undefined
  /** Time limit of a request; default 10 s. */
  timeoutMs?: number | undefined
}

/**
 * Client of a running rollup node. A refused request rejects with JsonRpcError, which has the code in `rpcCode`. A
 * failed request rejects with RpcTransportError, whose `code` is `rpc-timeout` or `rpc-transport`. Answers are not
 * validated against their types: a caller that does not trust the server must do that.
 */
export interface NodeClient {
  /** The address without credentials. */
  readonly url: string
  request<M extends NodeMethod>(
    method: M,
    params: NodeMethods[M]['params'],
    options?: RequestOptions,
  ): Promise<NodeMethods[M]['result']>
  /**
   * Receives events of a topic until the signal aborts, and then resolves. Rejects when the node refuses, or when the
   * connection closes: then subscribe again.
   */
  subscribe<T extends Topic>(topic: T, listener: (event: Events[T]) => void, signal: AbortSignal): Promise<void>
  /** The same connection, for batches and for methods outside the table. */
  readonly transport: RpcClient
  close(): Promise<void>
}

/** Connects at the first request. Throws UsageError for an address of another scheme. */
export function createNodeClient({ url, token, timeoutMs }: NodeClientOptions): NodeClient {
  const protocol = URL.canParse(url) ? new URL(url).protocol : ''
  if (!/^(https?|wss?):$/.test(protocol)) throw new UsageError('expected an address that begins with http:// or ws://')
  const options = {
    ...(token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  }
  const socket = createWebSocketRpcClient({ url: url.replace(/^http/, 'ws'), ...options })
  const transport = protocol.startsWith('ws') ? socket : createRpcClient({ url, ...options })
  return {
    url: redact(url),
    transport,
    // Answers have the table's types if the node has this version.
    request: async <M extends NodeMethod>(
      method: M,
      params: NodeMethods[M]['params'],
      requestOptions?: RequestOptions,
    ) => (await transport.request(method, params, requestOptions)) as NodeMethods[M]['result'],
    subscribe: <T extends Topic>(topic: T, listener: (event: Events[T]) => void, signal: AbortSignal) =>
      socket.subscribe(
        { method: 'devium_subscribe', params: [topic], unsubscribe: 'devium_unsubscribe' },
        (event) => listener(event as Events[T]),
        signal,
      ),
    async close() {
      await transport.close()
      if (transport !== socket) await socket.close()
    },
  }
}
