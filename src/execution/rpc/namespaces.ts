import type { RpcHandler } from '../../jsonRpc/server.ts'
import type { MethodTable } from './context.ts'
import { method } from './params.ts'

/** The methods of these namespaces, with rpc_modules telling which they are. */
export function selectNamespaces(methods: MethodTable, namespaces: readonly string[]): Map<string, RpcHandler> {
  const selected = new Map<string, RpcHandler>()
  const present = new Set<string>(['rpc'])
  for (const [name, handler] of Object.entries(methods)) {
    const namespace = namespaceOf(name)
    if (!namespaces.includes(namespace)) continue
    present.add(namespace)
    selected.set(name, handler)
  }
  const modules = Object.fromEntries([...present].sort().map((namespace) => [namespace, '1.0']))
  selected.set(
    'rpc_modules',
    method([], () => modules),
  )
  return selected
}

/** Names of all namespaces that the table has. */
export function namespacesOf(methods: MethodTable): Set<string> {
  return new Set(Object.keys(methods).map(namespaceOf))
}

function namespaceOf(methodName: string): string {
  return methodName.slice(0, methodName.indexOf('_'))
}
