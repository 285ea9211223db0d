import type { Registry } from 'prom-client'
import { createRpcClient, type RpcClient, type RpcClientObserver, RpcTransportError } from '../../jsonRpc/client.ts'
import { redact } from '../../jsonRpc/credentials.ts'
import { createEndpointWatch, type EndpointState } from '../../jsonRpc/endpointWatch.ts'
import { createWebSocketRpcClient, type WebSocketRpcClient } from '../../jsonRpc/webSocketClient.ts'
import { type Clock, sleep } from '../../lib/clock.ts'
import { DecodeError, describeError, UsageError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'
import { createMetricMakers } from '../../lib/metricMakers.ts'
import { exponentialBackoff } from '../../lib/retry.ts'
import type { L1BlockInfo } from '../../rollup/protocol/types.ts'
import { L1Error } from '../errors.ts'
import { createL1Client, type L1ClientOptions } from '../l1Client.ts'
import type { L1Client } from '../types.ts'
import { createEndpointChoice, type L1EndpointState } from './endpointChoice.ts'
import { createPooledClient, createQuery, type QueryL1, report } from './pooledClient.ts'

export interface L1Modules {
  clock: Clock
  logger: Logger
  registry: Registry
  observer?: RpcClientObserver
}

export interface L1Options extends L1ClientOptions {
  /** http, https, ws or wss. The first URL is preferred. Each endpoint has its own limits and caches. */
  urls: readonly string[]
}

export interface L1Endpoint {
  /** As configured; may contain secrets. */
  url: string
  client: L1Client
  /** For methods that the client does not cover. */
  rpc: Pick<RpcClient, 'request' | 'batch'>
}

export interface L1 {
  /** All endpoints, combined into one client. */
  client: L1Client
  /**
   * Runs several calls on one endpoint. If the endpoint fails or returns an unreadable answer, the next endpoint is
   * tried. A JSON-RPC error counts as an answer.
   */
  query: QueryL1<L1Endpoint>
  /**
   * Checks each endpoint. An endpoint that fails the check is not used until it passes; it is checked again before use.
   * Throws the first endpoint's error if no endpoint passes. Always throws UsageErrors, because the operator must fix
   * them.
   */
  check(check: (endpoint: L1Endpoint) => Promise<void>): Promise<void>
  states(): L1EndpointState[]
  activeEndpoint(): EndpointState
  /**
   * Runs until the signal aborts. Subscribes to new heads at WebSocket endpoints and calls `onNewHead` for each. With
   * several endpoints, also checks the heads of all.
   */
  run(signal: AbortSignal, onNewHead: () => void): Promise<void>
  close(): Promise<void>
}

/** Interval between head checks of all endpoints. */
const HEAD_CHECK_MS = 15_000
/** An endpoint lags if its head is older than another head by more than this: five slots of Ethereum. */
const MAX_LAG_S = 60
/** A head further in the future is ignored when the newest head is determined. */
const MAX_AHEAD_S = 30
const resubscribeMs = exponentialBackoff(1_000, 30_000, 250)

export function createL1({ clock, logger, registry, observer }: L1Modules, options: L1Options): L1 {
  const { urls, ...clientOptions } = options
  const endpoints = urls.map((url, index) => {
    const watch = createEndpointWatch({ url, clock }, observer)
    const transport = { url, observer: watch.observer }
    const socket = /^wss?:/.test(url) ? createWebSocketRpcClient(transport) : undefined
    const rpc: RpcClient = socket ?? createRpcClient(transport)
    // Two addresses may be equal after secrets are removed.
    const isTwin = urls.some((other, at) => at < index && redact(other) === redact(url))
    const name = isTwin ? `${redact(url)} #${index + 1}` : redact(url)
    return { name, url, rpc, socket, watch, client: createL1Client({ rpc, logger, clock }, clientOptions) }
  })
  const names = endpoints.map(({ name }) => name)
  /** The checks of endpoints that have not passed yet. */
  const unchecked = new Map<number, () => Promise<void>>()
  const { counter, watchedByLabel } = createMetricMakers(registry, 'devium_l1_endpoint_')
  const switches = counter('switches_total', 'Number of switches to another L1 endpoint', ['from', 'to'])
  const choice = createEndpointChoice(names, {
    clock,
    onChange(event) {
      const [from = '', to = ''] = [names[event.from], names[event.to]]
      switches.inc({ from, to })
      if (event.kind === 'returned') logger.info('Returned to an L1 endpoint that is healthy again', { from, to })
      else logger.warn('Left an L1 endpoint', { from, to, why: event.why })
    },
  })
  watchedByLabel('gauge', 'active', '1 for the L1 endpoint that requests go to first', 'endpoint', () =>
    Object.fromEntries(choice.states().map(({ url, active }) => [url, active ? 1 : 0])),
  )
  watchedByLabel('gauge', 'ok', '1 for an L1 endpoint without a known problem', 'endpoint', () =>
    Object.fromEntries(choice.states().map(({ url, problem }) => [url, problem === undefined ? 1 : 0])),
  )

  const pass = async (index: number): Promise<void> => {
    const check = unchecked.get(index)
    if (check === undefined) return
    await check()
    unchecked.delete(index)
    choice.include(index)
  }
  const checkHeads = async (): Promise<void> => {
    const heads = await Promise.all(
      endpoints.map(async ({ client }, index): Promise<L1BlockInfo | undefined> => {
        try {
          await pass(index)
          const head = await client.blockInfoByLabel('latest')
          choice.worked(index)
          return head
        } catch (error) {
          const err = describeError(error)
          // Logs the same error once, because the check repeats.
          if (error instanceof UsageError && choice.states()[index]?.problem?.message !== err)
            logger.error('L1 endpoint cannot be used and is skipped', { url: names[index], err })
          report(choice, index, error)
          return undefined
        }
      }),
    )
    const latestTime = clock.now() / 1000 + MAX_AHEAD_S
    const newest = Math.max(0, ...heads.map((head) => head?.timestamp ?? 0).filter((time) => time <= latestTime))
    for (const [index, head] of heads.entries()) {
      if (head === undefined) continue
      const lagS = newest - head.timestamp
      if (lagS > MAX_LAG_S)
        choice.lags(index, `its head, block ${head.number}, is ${lagS} s behind the head of another endpoint`)
      else choice.foundHealthy(index)
    }
  }
  const pollHeads = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      await sleep(clock, HEAD_CHECK_MS, signal)
      await checkHeads()
    }
  }
  /** Subscribes again whenever the connection closes. Polling continues in the meantime. */
  const listen = async (
    index: number,
    socket: WebSocketRpcClient,
    signal: AbortSignal,
    onNewHead: () => void,
  ): Promise<void> => {
    let failures = 0
    while (!signal.aborted) {
      try {
        await socket.subscribe(
          { method: 'eth_subscribe', params: ['newHeads'] },
          () => {
            failures = 0
            if (choice.active === index) onNewHead()
          },
          signal,
        )
      } catch (error) {
        failures += 1
        if (failures === 1 && !signal.aborted) {
          const fields = { url: names[index], err: describeError(error) }
          logger.info('L1 endpoint does not notify of new heads: polling until it does', fields)
        }
      }
      await sleep(clock, resubscribeMs(Math.max(1, failures)), signal)
    }
  }

  return {
    client: createPooledClient(
      endpoints.map(({ client }) => client),
      choice,
    ),
    query: createQuery<L1Endpoint>(endpoints, choice, isAnswerOrOurs),
    async check(check) {
      const results = await Promise.allSettled(endpoints.map((endpoint) => check(endpoint)))
      const failures = results.flatMap((result, index) =>
        result.status === 'rejected' ? [{ index, error: result.reason as unknown }] : [],
      )
      const [first] = failures
      const ofOperator = failures.find(({ error }) => error instanceof UsageError && !(error.cause instanceof Error))
      if (first !== undefined && (ofOperator !== undefined || failures.length === endpoints.length)) {
        throw (ofOperator ?? first).error
      }
      for (const { index, error } of failures) {
        const endpoint = endpoints[index]
        if (endpoint === undefined) continue
        unchecked.set(index, () => check(endpoint))
        choice.exclude(index, describeError(error))
        logger.warn('L1 endpoint unused until it answers', { url: names[index], err: describeError(error) })
      }
    },
    states: () => choice.states(),
    activeEndpoint() {
      const active = endpoints[choice.active]
      if (active === undefined) throw new RangeError('an L1 needs an endpoint')
      return active.watch.state()
    },
    async run(signal, onNewHead) {
      const tasks = endpoints.flatMap(({ socket }, index) =>
        socket === undefined ? [] : [listen(index, socket, signal, onNewHead)],
      )
      if (endpoints.length > 1) tasks.push(pollHeads(signal))
      await Promise.all(
        tasks.map((task) =>
          task.catch((error: unknown) => {
            if (!signal.aborted) throw error
          }),
        ),
      )
    },
    async close() {
      await Promise.all(endpoints.map(({ rpc }) => rpc.close()))
    },
  }
}

/** For direct calls: an endpoint fails if it does not answer or if its answer is unreadable. */
function isAnswerOrOurs(error: unknown): boolean {
  return !(error instanceof RpcTransportError || error instanceof DecodeError || error instanceof L1Error)
}
