import { requireSubscriber } from '../../../jsonRpc/callContext.ts'
import { JsonRpcError, RPC_METHOD_NOT_FOUND } from '../../../jsonRpc/types.ts'
import type { MethodTable } from '../context.ts'
import { serverError } from '../errors.ts'
import { logFilter } from '../logs/logFilter.ts'
import { anyValue, flag, idOf, method, optional, type Param, readParams } from '../params.ts'
import { type SubscriptionModules, Subscriptions } from '../subscriptions.ts'

const KINDS = ['newHeads', 'logs', 'newPendingTransactions', 'syncing'] as const

const kind: Param<(typeof KINDS)[number]> = {
  parse(value) {
    const found = KINDS.find((known) => known === value)
    if (found !== undefined) return found
    throw new JsonRpcError(RPC_METHOD_NOT_FOUND, `no ${JSON.stringify(value)} subscription in eth namespace`)
  },
}

const EVERYTHING = logFilter.parse({})

const subscriptionId = idOf('subscription')

/** eth_subscribe and eth_unsubscribe, on WebSocket connections. Messages and codes are geth's (`rpc/errors.go`). */
export function createSubscribeMethods(modules: SubscriptionModules): MethodTable {
  const subscriptions = new Subscriptions(modules)
  return {
    eth_subscribe: method([kind, optional(anyValue, undefined)], ([what, given], context) => {
      const client = requireSubscriber(context)
      switch (what) {
        case 'newHeads':
          return client.subscribe((notify) => subscriptions.onHead(notify))
        case 'logs': {
          const [, filter] = readParams([kind, optional(logFilter, EVERYTHING)], [what, given ?? null])
          return client.subscribe((notify) => subscriptions.onLogs(filter, notify))
        }
        case 'newPendingTransactions': {
          const [, isWhole] = readParams([kind, optional(flag, false)], [what, given ?? null])
          return client.subscribe((notify) => subscriptions.onTransaction(isWhole, notify))
        }
        case 'syncing':
          // Blocks come through the Engine API, so no sync ever begins or ends.
          return client.subscribe(() => () => {})
      }
    }),
    eth_unsubscribe: method([subscriptionId], ([id], context) => {
      if (!requireSubscriber(context).unsubscribe(id)) throw serverError('subscription not found')
      return true
    }),
  }
}
