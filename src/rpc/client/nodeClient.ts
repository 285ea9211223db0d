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

/** Every method of the rollup node, by its name: parameters as they are written, and the result. Made from the method table. */
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
  /** http(s) or ws(s), with user and password where it asks for them; with http, subscriptions open a WebSocket on the same port. */
  url: string
  /** Bearer token, where the node asks for one. */
  token?: string | undefined
  /** How long an answer may take: 10 s unless told. */
  timeoutMs?: number | undefined
}

/**
 * Asks a running rollup node. What the node refuses rejects with JsonRpcError, which has the code as `rpcCode`; what does not
 * come, with RpcTransportError, whose `code` is `rpc-timeout` or `rpc-transport`. Answers are not checked against their types:
 * that is for whoever does not know who listens at the address.
 */
export interface NodeClient {
  /** The address without what may be secret. */
  readonly url: string
  request<M extends NodeMethod>(
    method: M,
    params: NodeMethods[M]['params'],
    options?: RequestOptions,
  ): Promise<NodeMethods[M]['result']>
  /**
   * Tells of a topic until the signal aborts, and resolves then. Rejects when the node refuses, or when the connection ends:
   * whoever wants more subscribes again.
   */
  subscribe<T extends Topic>(topic: T, listener: (event: Events[T]) => void, signal: AbortSignal): Promise<void>
  /** The same connection for methods that are not in the table, and for batches. */
  readonly transport: RpcClient
  close(): Promise<void>
}

/** Connects with the first request. Throws UsageError for an address of another kind. */
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
    // Answers are what the table says they are, as long as a node of this version answers.
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
