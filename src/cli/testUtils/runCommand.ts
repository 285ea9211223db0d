import { format } from 'node:util'
import type { Command } from 'commander'
import { vi } from 'vitest'
import { runProgram } from '../shared/program.ts'

export interface EndedCommand {
  code: number
  stdout: string
  stderr: string
}

/** Replaces `process.exit` in a test: it ends the command, not the test. */
class Exit extends Error {}

let last: Promise<unknown> = Promise.resolve()

/** The flags, written as `--name=value`, without those that `args` sets. */
export function unlessGiven(args: readonly string[], flags: readonly string[]): string[] {
  const nameOf = (flag: string) => flag.split('=', 1)[0]
  const given = new Set(args.map(nameOf))
  return flags.filter((flag) => !given.has(nameOf(flag)))
}

/**
 * Runs a program's command line in this process and returns its output and exit code. This is much faster than a new
 * process, which loads all modules again. Run one command at a time, since all of them write to one console.
 */
export function runCommand(
  create: () => Command,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<EndedCommand> {
  const ended = last.then(() => runAlone(create, args, env))
  last = ended.catch(() => undefined)
  return ended
}

async function runAlone(
  create: () => Command,
  args: readonly string[],
  env: Record<string, string>,
): Promise<EndedCommand> {
  const printed = { stdout: '', stderr: '' }
  let code: number | undefined
  const writer =
    (to: keyof typeof printed) =>
    (chunk: string | Uint8Array, ...rest: unknown[]) => {
      // An ended process prints nothing more.
      if (code === undefined) printed[to] += String(chunk)
      const written = rest.at(-1)
      if (typeof written === 'function') written()
      return true
    }
  const exitCodeBefore = process.exitCode
  process.exitCode = undefined
  const envBefore = { ...process.env }
  Object.assign(process.env, env)
  const spies = [
    vi.spyOn(process.stdout, 'write').mockImplementation(writer('stdout')),
    vi.spyOn(process.stderr, 'write').mockImplementation(writer('stderr')),
    // A pipe that breaks after the command's end does not concern the command.
    vi.spyOn(process.stdout, 'on').mockReturnValue(process.stdout),
    vi.spyOn(console, 'log').mockImplementation((...values) => void writer('stdout')(`${format(...values)}\n`)),
    vi.spyOn(process, 'exit').mockImplementation((exitCode) => {
      code ??= Number(exitCode ?? process.exitCode ?? 0)
      throw new Exit()
    }),
  ]
  try {
    await runProgram(create(), ['node', 'program', ...args])
  } catch (error) {
    if (!(error instanceof Exit)) throw error
  } finally {
    code ??= Number(process.exitCode ?? 0)
    for (const spy of spies) spy.mockRestore()
    for (const name of Object.keys(env)) {
      if (envBefore[name] === undefined) delete process.env[name]
      else process.env[name] = envBefore[name]
    }
    process.exitCode = exitCodeBefore
  }
  return { code, ...printed }
}
