import { nearestTo } from '../../lib/nearest.ts'
import type { FlagSpec, FlagTable } from './flags.ts'

/** A variable of the environment; undefined where it is empty, too: compose files hand on each one, set or not. */
export function readVariable(name: string, env: NodeJS.ProcessEnv = process.env): string | undefined {
  return env[name] === '' ? undefined : env[name]
}

/** By which a flag is set, for one of its program's prefixes. */
export function variableOf({ name, env }: FlagSpec<unknown>, prefix: string): string {
  return `${prefix}_${env ?? name.toUpperCase().replace(/[.-]/g, '_')}`
}

/** More than these are only counted. */
const MAX_WARNINGS = 8
/**
 * What Kubernetes sets for a service that is called like a program: `OP_NODE_SERVICE_HOST`, `OP_NODE_PORT_9545_TCP_ADDR`, and
 * `OP_NODE_PORT=tcp://…`.
 */
const OF_SERVICE =
  /_SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)=|_PORT(_\d+_(TCP|UDP|SCTP)(_(ADDR|PORT|PROTO))?=|=(tcp|udp|sctp):)/

/** A line for each variable that begins as those of the program do and sets no flag, with the nearest one that does. */
export function unknownVariables(flags: FlagTable, prefixes: readonly string[], env: NodeJS.ProcessEnv): string[] {
  const specs = Object.values(flags)
  const unknown = prefixes.flatMap((prefix) => {
    const known = specs.map((spec) => variableOf(spec, prefix))
    return Object.keys(env)
      .filter((name) => name.startsWith(`${prefix}_`) && readVariable(name, env) !== undefined)
      .filter((name) => !known.includes(name) && !OF_SERVICE.test(`${name}=${env[name]}`))
      .map((name) => ({ name, nearest: nearestVariable(name, specs, prefix) }))
  })
  const lines = unknown.map(
    ({ name, nearest }) =>
      `No flag has the environment variable ${name}: it is ignored. The nearest known is ${nearest}`,
  )
  if (lines.length <= MAX_WARNINGS) return lines
  return [...lines.slice(0, MAX_WARNINGS), `${lines.length - MAX_WARNINGS} more such variables are ignored`]
}

function nearestVariable(name: string, specs: readonly FlagSpec<unknown>[], prefix: string): string {
  const names = specs.filter(({ ignored }) => ignored !== true).map((spec) => variableOf(spec, prefix))
  const rest = (variable: string) => variable.slice(prefix.length + 1).toLowerCase()
  const [nearest] = nearestTo(rest(name), names.map(rest), 1)
  return names.find((variable) => rest(variable) === nearest) ?? ''
}
