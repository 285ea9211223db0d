import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { claimPorts } from '../../testnet/runner/ports.ts'

const running: ChildProcess[] = []
/** For a program to end by itself. */
const STOP_MS = 20_000

/**
 * A TCP port of loopback for a program that cannot be given port 0: one of others that does not say which port it got, or one
 * that others are told of before it starts. No other test gets it while this process runs.
 */
export async function claimPort(): Promise<number> {
  return (await claimPorts(0, '127.0.0.1')).l1
}

/** A program of ours logs this line when it is up. The line names the addresses that it got. */
const IS_UP = /"msg":"[^"]*(started|is up)"/

/** Starts a program that `stopPrograms`, or the end of the test run, stops. */
export function startProgram(command: string, args: readonly string[]): ChildProcess {
  return keep(spawn(command, args, { stdio: 'ignore' }))
}

/** The same with one of ours; resolves with the addresses where it listens, by the names in its log, once it is up. */
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
  // A test run that is cut short takes it along.
  process.once('exit', () => child.kill('SIGKILL'))
  return child
}

/** Interrupts all of them, the latest first, and waits for their end. */
export async function stopPrograms(): Promise<void> {
  await Promise.all(running.splice(0).reverse().map(stop))
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGINT')
  // op-node of 2026 has been seen to go on.
  const force = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
  await exited
  clearTimeout(force)
}
