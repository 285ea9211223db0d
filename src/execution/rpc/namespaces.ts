import type { RpcHandler } from '../../jsonRpc/server.ts'
import type { MethodTable } from './context.ts'
import { method } from './params.ts'

/** The methods of these namespaces, and rpc_modules. */
export function selectNamespaces(methods: MethodTable, namespaces: readonly string[]): Map<string, RpcHandler> {
  const selected = new Map(Object.entries(methods).filter(([name]) => namespaces.includes(namespaceOf(name))))
  return selected.set('rpc_modules', rpcModules([...selected.keys()]))
}

/** The method rpc_modules, which lists the namespaces of these methods. */
export function rpcModules(names: readonly string[]): RpcHandler {
  const present = new Set(['rpc', ...names.map(namespaceOf)])
  const modules = Object.fromEntries([...present].sort().map((namespace) => [namespace, '1.0']))
  return method([], () => modules)
}

export function namespacesOf(methods: MethodTable): Set<string> {
  return new Set(Object.keys(methods).map(namespaceOf))
}

function namespaceOf(methodName: string): string {
  return methodName.slice(0, methodName.indexOf('_'))
}
