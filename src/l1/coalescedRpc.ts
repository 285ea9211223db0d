import { isBatchRefusal, type RequestOptions, type RpcCall } from '../jsonRpc/client.ts'
import { JsonRpcError } from '../jsonRpc/types.ts'
import type { Clock } from '../lib/clock.ts'
import { describeError } from '../lib/errors.ts'
import type { Logger } from '../lib/logger.ts'
import type { LimitedRpc } from './limitedRpc.ts'

export interface CoalescedRpc extends LimitedRpc {
  /** `weight`: the call's share of a batch; 1 for an answer as small as a header. */
  request(method: string, params: readonly unknown[], options?: RequestOptions & { weight?: number }): Promise<unknown>
}

/** After an endpoint has rejected a batch, calls are sent one by one for this time. */
const REFUSED_MS = 600_000

interface Waiting {
  call: RpcCall
  weight: number
  resolve(value: unknown): void
  reject(error: unknown): void
}

/**
 * Sends calls of the same event loop turn as one batch, so that callers need not build batches. A single call is sent
 * as it is.
 * A batch weighs at most `maxWeight`: parsing many large answers at once would hold the event loop. Calls with their
 * own time limit or signal are sent alone.
 */
export function createCoalescedRpc(
  rpc: LimitedRpc,
  { clock, logger }: { clock: Clock; logger: Logger },
  { maxWeight }: { maxWeight: number },
): CoalescedRpc {
  let waiting: Waiting[] = []
  let refusedUntilMs = 0

  const sendAlone = ({ call, resolve, reject }: Waiting): void => {
    rpc.request(call.method, call.params).then(resolve, reject)
  }
  const sendTogether = async (group: readonly Waiting[]): Promise<void> => {
    try {
      const answers = await rpc.batch(group.map(({ call }) => call))
      for (const [index, { resolve, reject }] of group.entries()) {
        const answer = answers[index]
        if (answer instanceof JsonRpcError) reject(answer)
        else resolve(answer)
      }
    } catch (error) {
      if (!isBatchRefusal(error)) {
        for (const { reject } of group) reject(error)
        return
      }
      refusedUntilMs = clock.now() + REFUSED_MS
      logger.info('L1 endpoint rejects batches: sending calls one by one', { err: describeError(error) })
      for (const item of group) sendAlone(item)
    }
  }
  const flush = (): void => {
    const all = waiting
    waiting = []
    for (const group of groupsOf(all, clock.now() < refusedUntilMs ? 0 : maxWeight)) {
      const [first] = group
      if (group.length === 1 && first !== undefined) sendAlone(first)
      else void sendTogether(group)
    }
  }

  return {
    request(method, params, options) {
      if (options?.signal !== undefined || options?.timeoutMs !== undefined) return rpc.request(method, params, options)
      return new Promise((resolve, reject) => {
        if (waiting.length === 0) setImmediate(flush)
        waiting.push({ call: { method, params }, weight: options?.weight ?? 1, resolve, reject })
      })
    },
    batch: (calls, options) => rpc.batch(calls, options),
  }
}

/** Keeps the order. A call that is heavier than a batch forms its own group. */
function groupsOf(all: readonly Waiting[], maxWeight: number): Waiting[][] {
  const groups: Waiting[][] = []
  let group: Waiting[] = []
  let weight = 0
  for (const item of all) {
    if (group.length > 0 && weight + item.weight > maxWeight) {
      groups.push(group)
      group = []
      weight = 0
    }
    group.push(item)
    weight += item.weight
  }
  if (group.length > 0) groups.push(group)
  return groups
}
