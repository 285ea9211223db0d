import { isBatchRefusal, type RequestOptions, type RpcCall } from '../jsonRpc/client.ts'
import { JsonRpcError } from '../jsonRpc/types.ts'
import type { Clock } from '../lib/clock.ts'
import { describeError } from '../lib/errors.ts'
import type { Logger } from '../lib/logger.ts'
import type { LimitedRpc } from './limitedRpc.ts'

export interface CoalescedRpc extends LimitedRpc {
  /** `weight`: how much of a batch the call takes, 1 for an answer as small as a header. */
  request(method: string, params: readonly unknown[], options?: RequestOptions & { weight?: number }): Promise<unknown>
}

/** An endpoint that refused a batch gets single calls for this time. */
const REFUSED_MS = 600_000

interface Waiting {
  call: RpcCall
  weight: number
  resolve(value: unknown): void
  reject(error: unknown): void
}

/**
 * Sends calls that are made in the same turn of the event loop as one batch. Whoever reads many blocks at once needs no
 * batch of their own, and a call that is alone goes as it is. A batch weighs at most `maxWeight`: many large answers in
 * one would hold the event loop while they are parsed. Calls with a time limit or signal of their own go alone.
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
      logger.info('L1 endpoint takes no batches: sending call by call', { err: describeError(error) })
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

/** In their order; one that is heavier than a batch may be goes alone. */
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
