import type { JsonValue } from '../jsonRpc/types.ts'
import { LIVE_NOTIFICATION } from './live/liveMethods.ts'
import type { RpcMethod } from './method.ts'
import { jsonSchemaOf } from './results.ts'
import { EVENTS } from './schemas/events.ts'

/** The OpenRPC document of a method table (spec.open-rpc.org, 1.3.2): the result of rpc_discover. */
export function openRpcDocument(methods: readonly RpcMethod[], version: string): { [key: string]: JsonValue } {
  return {
    openrpc: '1.3.2',
    info: { title: 'devium rollup node', version },
    methods: methods.map((method) => ({
      name: method.name,
      summary: method.description,
      paramStructure: 'by-position',
      params: method.params.map(({ name, expects, schema, optional = false }) => ({
        name,
        description: expects,
        required: !optional,
        schema,
      })),
      result: { name: 'result', description: method.result.text, schema: jsonSchemaOf(method.result) },
      tags: tagsOf(method).map((name) => ({ name })),
    })),
    // OpenRPC does not define notifications.
    'x-notifications': { [LIVE_NOTIFICATION]: notificationSchemas() },
  }
}

/** Schemas of `result` in the notifications of each topic. */
function notificationSchemas(): { [topic: string]: JsonValue } {
  return Object.fromEntries(Object.entries(EVENTS).map(([topic, schema]) => [topic, jsonSchemaOf({ schema })]))
}

/** `changes`: the method changes something. `admin`: served with `--rpc.enable-admin` only. */
function tagsOf({ admin, changes }: RpcMethod): string[] {
  return [...(changes ? ['changes'] : []), ...(admin ? ['admin'] : [])]
}
