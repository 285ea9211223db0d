import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { batchSubmitterProgram } from '../batchSubmitter/batchSubmitterCommand.ts'
import { gethProgram } from '../geth/gethCommand.ts'
import { rollupNodeProgram } from '../node/rollupNodeCommand.ts'
import { configFlags, type FlagTable, flag, flagGroup, flagKey } from './flags.ts'
import { createProgram, type ProgramSpec } from './program.ts'

const flags = {
  ...configFlags,
  ...flagGroup('L1', {
    l1: flag.optional('<text>', 'RPC', { env: 'L1_ETH_RPC' }),
    'l1.beacon': flag.optional('<text>', 'Beacon API'),
    'l1.http-poll-interval': flag.durationMs(12_000, 'Interval'),
  }),
  ...flagGroup('P2P', {
    'p2p.static': flag.list('Peers to stay connected to'),
    'p2p.listen.tcp': flag.port(9222, 'Port'),
    'p2p.disable': flag.boolean('No peers'),
  }),
  ...flagGroup('Other', { 'rollup.halt': flag.optional('<text>', 'Gone', { ignored: true }) }),
}

const spec = { name: 'node', description: 'test', version: 'v1', envPrefixes: ['DEVIUM_NODE', 'OP_NODE'] }

let folder: string
let file: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'devium-config-'))
  file = join(folder, 'node.toml')
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Runs a program with a configuration file that holds `text`. */
async function run(text: string, { argv = [], env = {} }: { argv?: string[]; env?: Record<string, string> } = {}) {
  writeFileSync(file, text)
  let seen: unknown
  const command = createProgram({
    ...spec,
    flags,
    env,
    run: async (values, { given, warnings }) => {
      seen = { values, given: [...given], warnings }
    },
  })
  await command.parseAsync(['--config', file, ...argv], { from: 'user' })
  return seen
}

describe('a configuration file', () => {
  it('sets flags by name, quoted or in tables, with lists, numbers and booleans', async () => {
    const text = `
      l1 = "http://x"
      "l1.beacon" = "http://y"
      [p2p]
      static = ["a", "b"]
      disable = true
      listen.tcp = 3`
    expect(await run(text)).toMatchObject({
      values: {
        l1: 'http://x',
        l1Beacon: 'http://y',
        p2pStatic: ['a', 'b'],
        p2pDisable: true,
        p2pListenTcp: 3,
        l1HttpPollInterval: 12_000,
      },
      given: ['config', 'l1', 'l1.beacon', 'p2p.static', 'p2p.listen.tcp', 'p2p.disable'],
      warnings: [],
    })
  })

  it('is overridden by the environment and the command line', async () => {
    const text = '"l1" = "file"\n"l1.beacon" = "file"\n"l1.http-poll-interval" = "3s"'
    const env = { DEVIUM_NODE_L1_BEACON: 'variable', OP_NODE_L1_ETH_RPC: 'variable' }
    expect(await run(text, { argv: ['--l1=line'], env })).toMatchObject({
      values: { l1: 'line', l1Beacon: 'variable', l1HttpPollInterval: 3_000 },
    })
  })

  it('may be named by the environment', async () => {
    writeFileSync(file, '"p2p.listen.tcp" = 4')
    let port: unknown
    const command = createProgram({
      ...spec,
      flags,
      env: { DEVIUM_NODE_CONFIG: file },
      run: async (values) => {
        port = values.p2pListenTcp
      },
    })
    await command.parseAsync([], { from: 'user' })
    expect(port).toBe(4)
  })

  it('applies to a sub-command, before and after its name', async () => {
    writeFileSync(file, '"p2p.listen.tcp" = 5')
    const ports: unknown[] = []
    const program = () => {
      const run = async (values: { p2pListenTcp: number }) => void ports.push(values.p2pListenTcp)
      const sub = createProgram({ ...spec, name: 'init', flags, env: {}, run })
      return createProgram({ ...spec, flags, env: {}, run: async () => {} })
        .enablePositionalOptions()
        .addCommand(sub)
    }
    await program().parseAsync(['--config', file, 'init'], { from: 'user' })
    await program().parseAsync(['init', '--config', file], { from: 'user' })
    expect(ports).toEqual([5, 5])
  })

  it('causes the warnings of the flags that it sets', async () => {
    expect(await run('"rollup.halt" = "major"')).toMatchObject({
      warnings: [expect.stringContaining('--rollup.halt')],
    })
  })

  it.each([
    { text: '"p2p.statc" = "a"', named: ['"p2p.statc"', '"p2p.static"'] },
    { text: '[p2p]\nlisten.tpc = 1', named: ['"p2p.listen.tpc"', '"p2p.listen.tcp"'] },
    { text: 'config = "other.toml"', named: ['"config"'] },
    { text: '"p2p.listen.tcp" = 65536', named: ['p2p.listen.tcp', '65535'] },
    { text: '"p2p.disable" = "maybe"', named: ['p2p.disable'] },
    { text: 'l1 = ["a", "b"]', named: [': l1:'] },
    { text: '"p2p.static" = [["a"]]', named: ['p2p.static'] },
    { text: 'l1 = 2026-01-01', named: [': l1:'] },
    { text: '\nl1 = ', named: ['line 2:'] },
  ])('is refused with $text', async ({ text, named }) => {
    await expect(run(text)).rejects.toThrow(errorWith('usage', file, ...named))
  })

  it('counts unknown keys beyond the listed ones', async () => {
    const keys = Array.from({ length: 20 }, (_, index) => `key${index} = 1`)
    await expect(run(keys.join('\n'))).rejects.toThrow(errorWith('usage', '"key7"', 12))
  })

  it('must exist', async () => {
    await expect(run('', { argv: [`--config=${folder}/missing.toml`] })).rejects.toThrow(
      errorWith('usage', `${folder}/missing.toml`, 'ENOENT'),
    )
  })
})

const PROGRAMS: readonly Pick<ProgramSpec<FlagTable>, 'name' | 'envPrefixes' | 'flags'>[] = [
  rollupNodeProgram,
  batchSubmitterProgram,
  gethProgram,
]
/** Most flags accept one of these. */
const SAMPLES = ['1', 'true', '1s', '0x01', `0x${'11'.repeat(20)}`, `0x${'11'.repeat(32)}`, 'http://x', 'a=http://x']

describe.each(PROGRAMS)('$name', (program) => {
  it('has a value of its own for each flag', () => {
    const names = Object.values(program.flags).map(({ name }) => name)
    expect(new Set(names.map(flagKey)).size).toBe(names.length)
  })

  it('accepts every flag in a file', async () => {
    const settable = Object.values(program.flags).filter(({ name }) => name !== 'config')
    const samples = settable.flatMap((flagSpec) => {
      const sample = SAMPLES.find((text) => parses(flagSpec.parse, text))
      return sample === undefined ? [] : [{ name: flagSpec.name, sample }]
    })
    expect(samples.length).toBeGreaterThan(settable.length / 2)
    writeFileSync(file, samples.map(({ name, sample }) => `"${name}" = "${sample}"`).join('\n'))
    let given: string[] = []
    const command = createProgram({
      ...{ ...spec, ...program, env: {} },
      run: async (_, context) => {
        given = [...context.given]
      },
    })
    await command.parseAsync(['--config', file], { from: 'user' })
    expect(given.sort()).toEqual(['config', ...samples.map(({ name }) => name)].sort())
  })
})

function parses(parse: (text: string) => unknown, text: string): boolean {
  try {
    parse(text)
    return true
  } catch {
    return false
  }
}
