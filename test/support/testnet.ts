import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { CommandResult } from '../../src/cli/operator/testnet/commandTable.ts'
import { requestCommand } from '../../src/cli/operator/testnet/controlClient.ts'
import { until } from '../../src/lib/testUtils/until.ts'
import type { Endpoints, TestnetEvent } from '../../testnet/runner/events.ts'
import { commandOf, descendantsOf } from './processes.ts'

const MAIN = fileURLToPath(new URL('../../testnet/main.ts', import.meta.url))

export interface TestnetOptions {
  /** A directory that is kept between two testnets. Default: a temporary one that `stop` removes. */
  dir?: string
  nodes?: number
  /** Further flags of the runner. */
  args?: readonly string[]
  /** Additional environment variables. */
  env?: Record<string, string>
}

export interface RunningTestnet extends Endpoints {
  /** The seconds in the `ready` event. */
  readySeconds: number
  /** Events so far. */
  events: TestnetEvent[]
  runner: ChildProcess
  /** The runner's exit code, once it has ended. */
  exited: Promise<number | null>
  /** Makes the runner restart an ended program. Requires `--fail-fast=false`. */
  startAgain(program: string): void
  /** Makes the runner run a command, as `devium testnet` does. */
  command(line: string): Promise<CommandResult>
  /** Kills the program whose command line contains all of `parts`. Resolves when the runner has noticed. */
  kill(program: string, ...parts: readonly string[]): Promise<void>
  /** Interrupts the runner like Ctrl-C. Resolves to its exit code. */
  stop(): Promise<number | null>
  /** Warnings and errors in all logs. */
  complaints(): string[]
}

const READY_TIMEOUT_MS = 120_000
/** Lines of each log in the error of a testnet that did not start. */
const LAST_LINES = 12

/** Starts a testnet of real processes on free ports. Resolves when all nodes share a safe block. */
export async function startTestnet(options: TestnetOptions = {}): Promise<RunningTestnet> {
  const dir = options.dir ?? mkdtempSync(join(tmpdir(), 'devium-testnet-'))
  const args = [
    '--json',
    '--base-port',
    '0',
    '--dir',
    dir,
    '--nodes',
    String(options.nodes ?? 3),
    ...(options.args ?? []),
  ]
  const runner = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', MAIN, ...args], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...options.env },
  })
  // An interrupted test run kills the runner, and the programs end with it.
  const killAtExit = () => runner.kill('SIGKILL')
  process.once('exit', killAtExit)
  const exited = new Promise<number | null>((resolve) => runner.once('exit', (code) => resolve(code)))
  exited.then(() => process.off('exit', killAtExit))

  let errors = ''
  runner.stderr.on('data', (chunk) => {
    errors += chunk
  })
  const events: TestnetEvent[] = []
  let lastStatus: TestnetEvent | undefined
  const ready = await new Promise<TestnetEvent & { event: 'ready' }>((resolve, reject) => {
    const fail = (why: string) => {
      clearTimeout(timer)
      const seen = [...events, ...(lastStatus === undefined ? [] : [lastStatus])].map((event) => JSON.stringify(event))
      reject(new Error([`the testnet ${why}: ${errors}`, ...seen, ...lastLines(join(dir, 'logs'))].join('\n')))
    }
    const timer = setTimeout(() => {
      runner.kill('SIGINT')
      fail(`was not ready after ${READY_TIMEOUT_MS / 1000} s`)
    }, READY_TIMEOUT_MS)
    exited.then((code) => fail(`ended with code ${code}`))
    createInterface({ input: runner.stdout }).on('line', (line) => {
      const event = JSON.parse(line) as TestnetEvent
      // A test can query their content.
      if (event.event === 'status') {
        lastStatus = event
        return
      }
      events.push(event)
      if (event.event !== 'ready') return
      clearTimeout(timer)
      resolve(event)
    })
  })
  return {
    ...ready,
    readySeconds: ready.seconds,
    events,
    runner,
    exited,
    startAgain: (program) => void runner.stdin.write(`start ${program}\n`),
    command: (line) => requestCommand(ready.dir, line.split(' ')),
    async kill(program, ...parts) {
      const [pid] = descendantsOf(runner.pid ?? 0).filter((each) =>
        parts.every((part) => commandOf(each).includes(part)),
      )
      if (pid === undefined) throw new Error(`no process has ${parts.join(' and ')}`)
      const from = events.length
      process.kill(pid, 'SIGKILL')
      await until(() => events.slice(from).some((event) => event.event === 'ended' && event.program === program))
    },
    async stop() {
      if (runner.exitCode === null && runner.signalCode === null) runner.kill('SIGINT')
      const code = await exited
      if (options.dir === undefined) rmSync(dir, { recursive: true, force: true })
      return code
    },
    complaints: () => complaintsIn(join(dir, 'logs')),
  }
}

/** The end of each log. */
function lastLines(logDirectory: string): string[] {
  if (!existsSync(logDirectory)) return []
  return readdirSync(logDirectory).flatMap((name) => {
    const lines = readFileSync(join(logDirectory, name), 'utf8').trimEnd().split('\n').slice(-LAST_LINES)
    return [`== ${name}`, ...lines]
  })
}

/** Log lines of level warn and above, and lines that are not in log format. */
export function complaintsIn(logDirectory: string): string[] {
  return readdirSync(logDirectory).flatMap((name) =>
    readFileSync(join(logDirectory, name), 'utf8')
      .split('\n')
      .filter((line) => line !== '' && !/^t=\S+ lvl=(trace|debug|info) /.test(line))
      .map((line) => `${name}: ${line}`),
  )
}
