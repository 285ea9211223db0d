import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { claimPorts } from '../../testnet/runner/ports.ts'

const running: ChildProcess[] = []
/** The time that a stopping program has. */
const STOP_MS = 20_000

/**
 * A TCP port of loopback for a program that cannot use port 0. Such a program does not report its port, or others must know the
 * port before it starts. No other test gets the port while this process runs.
 */
export async function claimPort(): Promise<number> {
  return (await claimPorts(0, '127.0.0.1')).l1
}

/** Our programs log this line when they are up. It has the addresses. */
const IS_UP = /"msg":"[^"]*(started|is up)"/

/** Starts a program. `stopPrograms` or the end of the test run stops it. */
export function startProgram(command: string, args: readonly string[]): ChildProcess {
  return keep(spawn(command, args, { stdio: 'ignore' }))
}

/** Starts one of our programs. Resolves when it is up, with its listen addresses by their names in the log. */
export async function startOurs(name: string, args: readonly string[]): Promise<Record<string, string>> {
  const script = fileURLToPath(new URL(`../../bin/${name}.mjs`, import.meta.url))
  const child = spawn(process.execPath, [script, ...args, '--log.format=json'], { stdio: ['ignore', 'pipe', 'pipe'] })
  keep(child)
  const lines: string[] = []
  return new Promise((resolve, reject) => {
    for (const input of [child.stdout, child.stderr]) {
      createInterface({ input }).on('line', (line) => {
        if (IS_UP.test(line)) resolve(JSON.parse(line))
        lines.push(line)
        lines.splice(0, lines.length - 20)
      })
    }
    child.once('exit', (code) => reject(new Error(`${name} ended with ${code}:\n${lines.join('\n')}`)))
  })
}

function keep<Child extends ChildProcess>(child: Child): Child {
  running.push(child)
  // An interrupted test run kills it.
  process.once('exit', () => child.kill('SIGKILL'))
  return child
}

/** Interrupts all programs, the latest first, and waits for their end. */
export async function stopPrograms(): Promise<void> {
  await Promise.all(running.splice(0).reverse().map(stopProgram))
}

export async function stopProgram(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGINT')
  // op-node of 2026 sometimes ignores the interrupt.
  const force = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
  await exited
  clearTimeout(force)
}
