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
import { type AskL1, createAsk, createPooledClient, report } from './pooledClient.ts'

export interface L1Modules {
  clock: Clock
  logger: Logger
  registry: Registry
  observer?: RpcClientObserver
}

export interface L1Options extends L1ClientOptions {
  /** http, https, ws or wss; the first one is preferred. Each has limits and caches of its own. */
  urls: readonly string[]
  /** Between looks at the heads of those that are not in use. Default 15 s. */
  lookIntervalMs?: number
}

/** One of several, by itself. */
export interface L1Endpoint {
  /** As given, with what may be secret. */
  url: string
  client: L1Client
  /** For what the client does not read. */
  rpc: Pick<RpcClient, 'request' | 'batch'>
}

export interface L1 {
  /** All endpoints as one. */
  client: L1Client
  /**
   * For calls that belong together: one endpoint answers all. Another is asked where none came, or none that can be read. A
   * JSON-RPC error is an answer.
   */
  ask: AskL1<L1Endpoint>
  /**
   * Has each endpoint looked at, and asks none that has not passed. Throws the first one's error when none passes, and
   * UsageErrors in any case: they are the operator's. Who did not answer is checked again before it is asked.
   */
  check(check: (endpoint: L1Endpoint) => Promise<void>): Promise<void>
  states(): L1EndpointState[]
  /** How the endpoint answers that requests go to first. */
  activeEndpoint(): EndpointState
  /**
   * Looks after the endpoints until the signal aborts: listens for new heads where an endpoint tells of them (WebSocket),
   * and calls `onNewHead` at each; watches the heads of all where there are several.
   */
  run(signal: AbortSignal, onNewHead: () => void): Promise<void>
  close(): Promise<void>
}

const LOOK_MS = 15_000
/** An endpoint whose head is older than another's by more is not in step: five slots of Ethereum. */
const MAX_LAG_S = 60
/** A head from the future tells nothing of others. */
const MAX_AHEAD_S = 30
const resubscribeMs = exponentialBackoff(1_000, 30_000, 250)

export function createL1({ clock, logger, registry, observer }: L1Modules, options: L1Options): L1 {
  const { urls, lookIntervalMs = LOOK_MS, ...clientOptions } = options
  const endpoints = urls.map((url, index) => {
    const watch = createEndpointWatch({ url, clock }, observer)
    const transport = { url, observer: watch.observer }
    const socket = /^wss?:/.test(url) ? createWebSocketRpcClient(transport) : undefined
    const rpc: RpcClient = socket ?? createRpcClient(transport)
    // What may be shown of two addresses can be the same.
    const isTwin = urls.some((other, at) => at < index && redact(other) === redact(url))
    const name = isTwin ? `${redact(url)} #${index + 1}` : redact(url)
    return { name, url, rpc, socket, watch, client: createL1Client({ rpc, logger, clock }, clientOptions) }
  })
  const names = endpoints.map(({ name }) => name)
  /** What an endpoint has to pass before it is asked for anything; they are those that have not. */
  const unchecked = new Map<number, () => Promise<void>>()
  const { counter, watchedByLabel } = createMetricMakers(registry, 'devium_l1_endpoint_')
  const switches = counter('switches_total', 'Times that requests went over to another L1 endpoint', ['from', 'to'])
  const choice = createEndpointChoice(names, {
    clock,
    onChange(event) {
      const [from = '', to = ''] = [names[event.from], names[event.to]]
      switches.inc({ from, to })
      if (event.kind === 'returned') logger.info('Returned to an L1 endpoint that is well again', { from, to })
      else logger.warn('Left an L1 endpoint', { from, to, why: event.why })
    },
  })
  watchedByLabel('gauge', 'active', '1 for the L1 endpoint that requests go to first', 'endpoint', () =>
    Object.fromEntries(choice.states().map(({ url, active }) => [url, active ? 1 : 0])),
  )
  watchedByLabel('gauge', 'ok', '1 for an L1 endpoint that nothing is known to be wrong with', 'endpoint', () =>
    Object.fromEntries(choice.states().map(({ url, problem }) => [url, problem === undefined ? 1 : 0])),
  )

  const pass = async (index: number): Promise<void> => {
    const check = unchecked.get(index)
    if (check === undefined) return
    await check()
    unchecked.delete(index)
    choice.include(index)
  }
  /** Heads of all, and what follows from them. */
  const look = async (): Promise<void> => {
    const heads = await Promise.all(
      endpoints.map(async ({ client }, index): Promise<L1BlockInfo | undefined> => {
        try {
          await pass(index)
          const head = await client.blockInfoByLabel('latest')
          choice.worked(index)
          return head
        } catch (error) {
          const err = describeError(error)
          // Said once: it is looked at again and again.
          if (error instanceof UsageError && choice.states()[index]?.problem?.message !== err)
            logger.error('L1 endpoint is of no use, it is passed over', { url: names[index], err })
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
        choice.lags(index, `its head, block ${head.number}, is ${lagS} s behind that of another one`)
      else choice.foundWell(index)
    }
  }
  const lookAfter = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      await sleep(clock, lookIntervalMs, signal)
      await look()
    }
  }
  /** Subscribes again whenever the connection ends; meanwhile polling goes on. */
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
          logger.info('L1 endpoint does not tell of new heads: they are polled until it does', fields)
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
    ask: createAsk<L1Endpoint>(endpoints, choice, isAnswerOrOurs),
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
        logger.warn('L1 endpoint is left aside until it answers', { url: names[index], err: describeError(error) })
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
      if (endpoints.length > 1) tasks.push(lookAfter(signal))
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

/** Of calls by hand: an endpoint's fault is that it does not answer, or not what can be read. */
function isAnswerOrOurs(error: unknown): boolean {
  return !(error instanceof RpcTransportError || error instanceof DecodeError || error instanceof L1Error)
}
