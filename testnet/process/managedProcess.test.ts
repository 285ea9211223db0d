import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { until, WAIT_LIMIT_MS } from '../../src/lib/testUtils/until.ts'
import { isAlive } from '../../test/support/processes.ts'
import { ManagedProcess, type ProcessSpec } from './managedProcess.ts'
import { ProcessGroup } from './processGroup.ts'

const directory = mkdtempSync(join(tmpdir(), 'devium-process-'))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

let scripts = 0
/** A one-line JavaScript program. */
function spec(name: string, source: string, env: Record<string, string> = {}): ProcessSpec {
  const script = join(directory, `${name}-${++scripts}.mjs`)
  writeFileSync(script, source)
  return { name, command: { script }, args: [], env, logPath: join(directory, `${name}-${scripts}.log`) }
}

const RUNS_ON =
  "process.on('SIGTERM', () => { console.log('terminated'); process.exit(0) }); setInterval(() => {}, 1000); console.log('up', process.pid);"

/** Saves on interrupt, until it is told that it has saved. */
const SAVES = `process.on('SIGINT', () => console.log('saving'))
  process.on('SIGUSR2', () => { console.log('saved'); process.exit(0) })
  setInterval(() => {}, 1000)
  console.log('up', process.pid)`

/** Starts the program in a runner that a test may kill, and waits until the program runs. */
async function startInRunner(child: ProcessSpec) {
  const module = fileURLToPath(new URL('managedProcess.ts', import.meta.url))
  const source = `import { ManagedProcess } from ${JSON.stringify(module)};
    const started = ManagedProcess.start(${JSON.stringify(child)});
    await started.outputHas('up', ${WAIT_LIMIT_MS}); console.log(started.output()); setInterval(() => {}, 1000)`
  const script = join(directory, `runner-${++scripts}.mjs`)
  writeFileSync(script, source)
  const runner = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', script])
  const [output] = await once(runner.stdout, 'data')
  const pid = Number(/up (\d+)/.exec(String(output))?.[1])
  expect(isAlive(pid)).toBe(true)
  return { runner, pid }
}

/** The same program, as if it were no script of ours. */
function asBinary(child: ProcessSpec): ProcessSpec {
  const args = 'script' in child.command ? [child.command.script] : []
  return { ...child, command: { binary: process.execPath }, args }
}

describe('ManagedProcess', () => {
  it('writes to its log and stops on request', async () => {
    const running = ManagedProcess.start(spec('polite', RUNS_ON))
    await running.outputHas('up', WAIT_LIMIT_MS)
    expect(await running.stop('SIGTERM', WAIT_LIMIT_MS)).toBe(true)
    expect(running.running).toBe(false)
    expect(running.output()).toContain('terminated')
  })

  it('keeps the last 20 MB of its log, and continues reading it', async () => {
    const source = `const line = 'x'.repeat(999)
      process.on('SIGUSR2', () => { console.error('the end'); process.exit(1) })
      for (let i = 0; i < 10_500; i++) console.log(line)
      console.log('up')
      setInterval(() => {}, 1000)`
    const running = ManagedProcess.start(spec('talkative', source))
    const { logPath } = running.spec
    await expect.poll(() => existsSync(`${logPath}.1`)).toBe(true)
    await running.outputHas('up', WAIT_LIMIT_MS)
    expect(statSync(logPath).size).toBeLessThan(10_000_000)
    process.kill(running.pid ?? 0, 'SIGUSR2')
    expect((await running.ending()).lastLines.slice(-2)).toEqual(['up', 'the end'])
  })

  it('is killed when it does not stop in time', async () => {
    const running = ManagedProcess.start(
      spec('deaf', "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); console.log('up')"),
    )
    await running.outputHas('up', WAIT_LIMIT_MS)
    expect(await running.stop('SIGTERM', 100)).toBe(false)
    expect(await running.exited).toEqual({ code: null, signal: 'SIGKILL' })
  })

  it('is not killed while it saves', async () => {
    const running = ManagedProcess.start({ ...spec('saving', SAVES), savesOnInterrupt: true })
    await running.outputHas('up', WAIT_LIMIT_MS)
    const stopping = running.stop('SIGINT', 0)
    await running.outputHas('saving', WAIT_LIMIT_MS)
    process.kill(running.pid ?? 0, 'SIGUSR2')
    expect(await stopping).toBe(true)
    expect(running.output()).toContain('saved')
  })

  it('writes nothing while it is paused, and still receives the stop signal', async () => {
    const source = `process.on('SIGTERM', () => { console.log('terminated'); process.exit(0) })
      process.on('SIGUSR2', () => console.log('heard'))
      setInterval(() => {}, 1000)
      console.log('up')`
    const running = ManagedProcess.start(spec('paused', source))
    await running.outputHas('up', WAIT_LIMIT_MS)
    running.pause()
    expect(running.paused).toBe(true)
    process.kill(running.pid ?? 0, 'SIGUSR2')
    const state = () => execFileSync('ps', ['-o', 'state=', '-p', String(running.pid)], { encoding: 'utf8' })
    await expect.poll(state).toMatch(/^T/)
    expect(running.output()).not.toContain('heard')
    running.resume()
    await running.outputHas('heard', WAIT_LIMIT_MS)
    running.pause()
    expect(await running.stop('SIGTERM', WAIT_LIMIT_MS)).toBe(true)
    expect(running.output()).toContain('terminated')
  })

  it('runs with the clock that is set', async () => {
    const source = `const { now } = Date
      setInterval(() => console.log(Math.round((now() - performance.timeOrigin - performance.now()) / 60_000), 'min'), 20)
      console.log('up')`
    const running = ManagedProcess.start(spec('clock', source))
    await running.outputHas('up', WAIT_LIMIT_MS)
    expect(running.setClock(-1_800_000)).toBe(true)
    await running.outputHas('-30 min', WAIT_LIMIT_MS)
    running.setClock(600_000)
    await running.outputHas('\n10 min', WAIT_LIMIT_MS)
    await running.stop('SIGKILL', WAIT_LIMIT_MS)
  })

  it('shows only the output of this run', async () => {
    const first = spec('log', "console.log('first run')")
    await ManagedProcess.start(first).exited
    const second = ManagedProcess.start({
      ...first,
      ...spec('log', "console.log('second run')"),
      logPath: first.logPath,
    })
    await second.exited
    expect(second.output()).toBe('second run\n')
    expect(readFileSync(first.logPath, 'utf8')).toBe('first run\nsecond run\n')
  })

  it('reports its failure with the end of its log', async () => {
    const failing = ManagedProcess.start(spec('failing', "console.error('the database is locked'); process.exit(3)"))
    expect((await failing.failure()).message).toMatch(
      /failing ended unexpectedly with exit code 3\n.*\n {4}the database is locked/,
    )
    const missing = ManagedProcess.start({ ...spec('missing', ''), command: { binary: '/no/such/program' } })
    expect((await missing.failure()).message).toContain('cannot run /no/such/program')
  })

  it('kills its child processes when it crashes', async () => {
    const source = `import { execFileSync, spawn } from 'node:child_process'
      const inner = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
      console.log('up', inner.pid); setInterval(() => {}, 1000)`
    const outer = ManagedProcess.start(spec('outer', source))
    await outer.outputHas('up', WAIT_LIMIT_MS)
    const inner = Number(/up (\d+)/.exec(outer.output())?.[1])
    expect(isAlive(inner)).toBe(true)
    process.kill(outer.pid ?? 0, 'SIGKILL')
    await outer.exited
    await expect.poll(() => isAlive(inner)).toBe(false)
  })

  it('stops waiting for text when the process ends', async () => {
    const ended = ManagedProcess.start(spec('ended', "console.log('other')"))
    await expect(ended.outputHas('text', WAIT_LIMIT_MS)).rejects.toThrow('ended without printing "text"')
  })

  it("does not see the operator's own settings, but gets its own", async () => {
    process.env.OP_NODE_L1_ETH_RPC = 'http://elsewhere'
    try {
      const source = 'console.log(process.env.OP_NODE_L1_ETH_RPC, process.env.DEVIUM_NODE_X)'
      const started = ManagedProcess.start(spec('environment', source, { DEVIUM_NODE_X: 'own' }))
      await started.exited
      expect(started.output()).toBe('undefined own\n')
    } finally {
      delete process.env.OP_NODE_L1_ETH_RPC
    }
  })
})

describe('ProcessGroup', () => {
  it('reports a program that exits unexpectedly, but not a stopped one', async () => {
    const crashes: string[] = []
    const group = new ProcessGroup(async (crashed) => crashes.push((await crashed.failure()).message))
    const crashing = group.start(spec('crashing', 'process.exit(4)'))
    await crashing.exited
    await expect.poll(() => crashes).toHaveLength(1)
    expect(crashes[0]).toContain('crashing ended unexpectedly with exit code 4')
    const stopped = group.start(spec('stopped', RUNS_ON))
    await stopped.outputHas('up', WAIT_LIMIT_MS)
    group.expectExits()
    await stopped.stop('SIGTERM', WAIT_LIMIT_MS)
    expect(crashes).toHaveLength(1)
  })

  it('rejects when a program that should finish fails', async () => {
    const group = new ProcessGroup(() => {})
    await group.run(spec('fine', ''))
    await expect(group.run(spec('bad', "console.log('no disk'); process.exit(1)"))).rejects.toThrow('no disk')
  })

  for (const kind of ['script', 'binary'] as const) {
    it(`leaves no ${kind} behind when the runner is killed`, async () => {
      const child = spec('child', RUNS_ON)
      const { runner, pid } = await startInRunner(kind === 'script' ? child : asBinary(child))
      runner.kill('SIGKILL')
      await expect.poll(() => isAlive(pid)).toBe(false)
    })
  }

  it('lets a binary save for more than a minute after the runner is killed', async () => {
    // In the leash, a minute passes at once.
    const source = 'const wait = setTimeout; globalThis.setTimeout = (done, ms) => wait(done, ms - 60_000)'
    const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(source)}` }
    const child = asBinary(spec('child', SAVES, env))
    const { runner, pid } = await startInRunner(child)
    runner.kill('SIGKILL')
    const output = () => readFileSync(child.logPath, 'utf8')
    await until(() => output().includes('saving') || !isAlive(pid))
    process.kill(pid, 'SIGUSR2')
    await until(() => !isAlive(pid))
    expect(output()).toContain('saved')
  })
})
