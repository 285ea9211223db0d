import { nearestTo } from '../../lib/nearest.ts'
import type { FlagSpec, FlagTable } from './flags.ts'

/** Reads an environment variable. An empty variable is undefined, because compose files pass every variable, set or not. */
export function readVariable(name: string, env: NodeJS.ProcessEnv = process.env): string | undefined {
  return env[name] === '' ? undefined : env[name]
}

/** The environment variable of a flag, for one of the program's prefixes. */
export function variableOf({ name, env }: FlagSpec<unknown>, prefix: string): string {
  return `${prefix}_${env ?? name.toUpperCase().replace(/[.-]/g, '_')}`
}

/** More warnings are counted but not listed. */
const MAX_WARNINGS = 8
/**
 * Variables that Kubernetes sets for a service with a program's name: `OP_NODE_SERVICE_HOST`, `OP_NODE_PORT_9545_TCP_ADDR`
 * and `OP_NODE_PORT=tcp://…`.
 */
const OF_SERVICE =
  /_SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)=|_PORT(_\d+_(TCP|UDP|SCTP)(_(ADDR|PORT|PROTO))?=|=(tcp|udp|sctp):)/

/** A warning for each variable that has a prefix of the program and sets no flag. It names the most similar variable. */
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
      `The environment variable ${name} belongs to no flag and is ignored. The most similar variable is ${nearest}`,
  )
  if (lines.length <= MAX_WARNINGS) return lines
  return [...lines.slice(0, MAX_WARNINGS), `${lines.length - MAX_WARNINGS} more unknown variables are ignored`]
}

function nearestVariable(name: string, specs: readonly FlagSpec<unknown>[], prefix: string): string {
  const names = specs.filter(({ ignored }) => ignored !== true).map((spec) => variableOf(spec, prefix))
  const rest = (variable: string) => variable.slice(prefix.length + 1).toLowerCase()
  const [nearest] = nearestTo(rest(name), names.map(rest), 1)
  return names.find((variable) => rest(variable) === nearest) ?? ''
}
