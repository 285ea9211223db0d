import { type ChildProcess, spawn } from 'node:child_process'
import { createServer } from 'node:net'

const running: ChildProcess[] = []

/** A TCP port of loopback that nobody listens on now. */
export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}

/** Starts a program that `stopPrograms`, or the end of the test run, stops. */
export function startProgram(command: string, args: readonly string[]): ChildProcess {
  const child = spawn(command, args, { stdio: 'ignore' })
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
  await exited
}
