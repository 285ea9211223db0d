import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { describe, expect, it, onTestFinished } from 'vitest'
import { flag, flagGroup, unsupportedFlags } from './flags.ts'
import { createProgram } from './program.ts'
import { signerFlags } from './signerFlags.ts'

const flags = {
  ...flagGroup('P2P', {
    'p2p.static': flag.list('Peers to stay connected to'),
    'p2p.listen.tcp': flag.port(9222, 'Port'),
    'p2p.disable': flag.boolean('No peers'),
  }),
  ...flagGroup('L1', {
    'l1.http-poll-interval': flag.durationMs(12_000, 'Interval'),
    l1: flag.optional('<text>', 'RPC', { env: 'L1_ETH_RPC' }),
  }),
  ...flagGroup('Sync', {
    syncmode: flag.choice(['consensus-layer', 'execution-layer'], 'consensus-layer', 'Mode'),
  }),
  ...flagGroup('Other', { 'rollup.halt': flag.optional('<text>', 'Gone', { ignored: true }) }),
  ...unsupportedFlags(['altda.enabled']),
}

async function run(argv: string[], env: Record<string, string> = {}) {
  let seen: unknown
  let stderr = ''
  const command = createProgram({
    name: 'node',
    description: 'test',
    version: 'v1',
    envPrefixes: ['DEVIUM_NODE', 'OP_NODE'],
    flags,
    env,
    run: async (values, { given, warnings }) => {
      seen = { values, given: [...given], warnings }
    },
  })
  command.exitOverride().configureOutput({ writeErr: (text) => (stderr += text) })
  try {
    await command.parseAsync(argv, { from: 'user' })
  } catch (error) {
    return { error: stderr === '' && error instanceof Error ? error.message : stderr }
  }
  return { seen }
}

describe('help', () => {
  it('shows meaningful defaults only', () => {
    const table = { ...flags, ...signerFlags }
    const command = createProgram({
      name: 'node',
      description: 'test',
      version: 'v1',
      envPrefixes: ['DEVIUM_NODE'],
      flags: table,
      run: async () => {},
    })
    const help = command.helpInformation()
    expect([...help.matchAll(/\(default\s+([^)]*)\)/g)].map(([, text]) => text)).toEqual([
      '9222',
      'false',
      '12s',
      'consensus-layer',
      'true',
      'tls/ca.crt',
      'tls/tls.crt',
      'tls/tls.key',
    ])
  })
})

describe('createProgram', () => {
  it('precedence: command line, our variable, variable of the replaced program, default', async () => {
    expect(await run([])).toMatchObject({
      seen: {
        values: { p2pStatic: [], p2pListenTcp: 9222, l1HttpPollInterval: 12_000, p2pDisable: false, l1: undefined },
        given: [],
      },
    })
    const env = {
      OP_NODE_P2P_STATIC: 'a, b,',
      DEVIUM_NODE_P2P_LISTEN_TCP: '1',
      OP_NODE_P2P_LISTEN_TCP: '2',
      OP_NODE_L1_ETH_RPC: 'http://x',
    }
    expect(await run(['--p2p.disable'], env)).toMatchObject({
      seen: { values: { p2pStatic: ['a', 'b'], p2pListenTcp: 1, p2pDisable: true, l1: 'http://x' } },
    })
    expect(await run(['--p2p.listen.tcp=3', '--p2p.disable=false'], env)).toMatchObject({
      seen: { values: { p2pListenTcp: 3, p2pDisable: false } },
    })
  })

  it('joins a repeated list', async () => {
    expect(await run(['--p2p.static', 'a,b', '--p2p.static=c'])).toMatchObject({
      seen: { values: { p2pStatic: ['a', 'b', 'c'] } },
    })
  })

  it('accepts a feature that does not exist here only if it is switched off', async () => {
    expect(await run(['--altda.enabled=false'])).toMatchObject({ seen: { warnings: [] } })
    expect((await run(['--altda.enabled'])).error).toMatch(/--altda\.enabled.*only false is accepted/)
  })

  it('warns of flags without effect', async () => {
    expect(await run(['--rollup.halt=major'])).toMatchObject({
      seen: { warnings: [expect.stringContaining('--rollup.halt')] },
    })
  })

  it.each([
    { argv: ['--p2p.statc=a'], error: "unknown option '--p2p.statc=a' (Did you mean --p2p.static?)" },
    { argv: ['--p2p.listen.tcp=65536'], error: 'expected a whole number from 0 to 65535' },
    { argv: ['--l1.http-poll-interval=12'], error: 'expected a duration such as' },
    { argv: ['--syncmode=snap'], error: 'expected one of consensus-layer, execution-layer' },
    { argv: ['--p2p.disable=maybe'], error: 'expected true or false' },
    { argv: ['stray'], error: 'too many arguments' },
  ])('refuses $argv', async ({ argv, error }) => {
    expect((await run(argv)).error).toContain(error)
  })

  it('names the invalid environment variable', async () => {
    expect((await run([], { OP_NODE_P2P_LISTEN_TCP: 'x' })).error).toContain(
      'environment variable OP_NODE_P2P_LISTEN_TCP: expected a whole number',
    )
  })
})

/** Starts a program of its own process. `body` is the JavaScript of its `run`, with `signal` and `logger`. */
function spawnProgram(body: string) {
  const script = `
    import { createProgram, createProgramLogger, runProgram } from ${JSON.stringify(new URL('./program.ts', import.meta.url).href)}
    const log = { logLevel: 'info', logFormat: 'json', logColor: false, logPid: false }
    const run = (_, { signal }) => new Promise((resolve) => {
      const logger = createProgramLogger(log, signal)
      setInterval(() => {}, 60_000)
      ${body}
      logger.info('running')
    })
    const command = createProgram({ name: 'test', description: '', version: '', envPrefixes: [], flags: {}, run })
    await runProgram(command, ['node', 'test'])
  `
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  return { child, exited: once(child, 'exit') }
}

describe('a program that receives a signal', () => {
  it('logs it first, and ignores a second SIGTERM', async () => {
    const { child, exited } = spawnProgram(`
      let signals = 0
      // Later than the time in which a second signal counts as the same key press.
      signal.addEventListener('abort', () => setTimeout(() => logger.info('Something else'), 400))
      process.on('SIGTERM', () => ++signals === 2 && resolve())
    `)
    const lines: string[] = []
    for await (const line of createInterface({ input: child.stdout })) {
      lines.push(JSON.parse(line).msg)
      if (lines.length === 1) child.kill('SIGTERM')
      if (lines.length === 3) child.kill('SIGTERM')
    }
    expect(lines).toEqual(['running', 'Stopping', 'Something else'])
    expect(await exited).toEqual([0, null])
  })

  it('exits when it has stopped, even if libraries still wait', async () => {
    const { child, exited } = spawnProgram(`signal.addEventListener('abort', resolve)`)
    await once(child.stdout, 'data')
    child.kill('SIGTERM')
    expect(await exited).toEqual([0, null])
  })
})
