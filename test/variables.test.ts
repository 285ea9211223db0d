import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { batchSubmitterProgram } from '../src/cli/batchSubmitter/batchSubmitterCommand.ts'
import { gethProgram } from '../src/cli/geth/gethCommand.ts'
import { rollupNodeProgram } from '../src/cli/node/rollupNodeCommand.ts'
import type { FlagTable } from '../src/cli/shared/flags.ts'
import { createProgram, type ProgramSpec } from '../src/cli/shared/program.ts'
import { testnetProgram } from '../testnet/flags.ts'

const PROGRAMS: readonly Pick<ProgramSpec<FlagTable>, 'name' | 'envPrefixes' | 'flags'>[] = [
  rollupNodeProgram,
  batchSubmitterProgram,
  gethProgram,
  testnetProgram,
]

interface Seen {
  values: Record<string, unknown>
  given: readonly string[]
  warnings: readonly string[]
}

async function start(program: (typeof PROGRAMS)[number], env: Record<string, string>): Promise<Seen> {
  const seen = Promise.withResolvers<Seen>()
  const command = createProgram({
    ...program,
    description: '',
    version: '',
    env,
    run: async (values, { given, warnings }) => seen.resolve({ values, given: [...given], warnings }),
  })
  await command.parseAsync([], { from: 'user' })
  return seen.promise
}

const withPrefixes = PROGRAMS.flatMap((program) => program.envPrefixes.map((prefix) => ({ program, prefix })))
const namesOf = ({ flags }: (typeof PROGRAMS)[number], prefix: string): string[] =>
  Object.values(flags).map(({ name, env }) => `${prefix}_${env ?? name.toUpperCase().replace(/[.-]/g, '_')}`)

describe('an empty variable counts as not set', () => {
  it.each(withPrefixes)('$prefix of $program.name, for every flag', async ({ program, prefix }) => {
    const names = namesOf(program, prefix)
    expect(names.length).toBeGreaterThan(10)
    const unset = await start(program, {})
    expect(unset).toMatchObject({ given: [], warnings: [] })
    for (const name of names) expect(await start(program, { [name]: '' }), name).toEqual(unset)
    expect(await start(program, Object.fromEntries(names.map((name) => [name, ''])))).toEqual(unset)
  })

  it('the non-empty one of two names counts', async () => {
    const { values } = await start(rollupNodeProgram, { DEVIUM_NODE_NETWORK: '', OP_NODE_NETWORK: 'op-mainnet' })
    expect(values).toMatchObject({ network: 'op-mainnet' })
  })

  it("also variables of the operator's tool", async () => {
    const env = { DEVIUM_RPC: '', DEVIUM_RPC_TOKEN_FILE: '', DEVIUM_BATCHER_RPC: '', DEVIUM_DEBUG: '' }
    const help = (...args: string[]): Promise<string> =>
      new Promise((resolve) => {
        const script = fileURLToPath(new URL('../bin/devium.mjs', import.meta.url))
        const options = { env: { ...process.env, ...env } }
        execFile(process.execPath, [script, ...args, '--help'], options, (_, stdout) => resolve(stdout))
      })
    expect(await help('status')).toMatch(/\(default:\s+"http:\/\/127.0.0.1:9545"\)/)
    expect(await help('batcher', 'status')).toMatch(/\(default:\s+"http:\/\/127.0.0.1:8545"\)/)
  })
})

describe('a variable without a flag', () => {
  it.each(withPrefixes)(
    '$prefix of $program.name is reported once, with the nearest known name',
    async ({ program, prefix }) => {
      const known = namesOf(program, prefix).find((name) => name.length > prefix.length + 8) ?? ''
      const misspelt = `${known.slice(0, -2)}${known.at(-1)}${known.at(-2)}`
      const { warnings } = await start(program, { [misspelt]: 'x', [`${prefix}_EMPTY`]: '' })
      expect(warnings).toEqual([
        `The environment variable ${misspelt} belongs to no flag and is ignored. The most similar variable is ${known}`,
      ])
    },
  )

  it('is not reported if it belongs to a test, another program, the tool or a Kubernetes service', async () => {
    const env = {
      ...{ DEVIUM_RPC: 'x', DEVIUM_DEBUG: '1', DEVIUM_OP_NODE: 'x', DEVIUM_OP_GETH_FLAGS: 'x', DEVIUM_DATA_DIR: 'x' },
      ...{ DEVIUM_NODES: 'x', OP_NODEX: 'x', GETHX_Y: 'x', DEVIUM_BATCHER_RPC: 'x', PATH: 'x' },
      ...{ OP_NODE_SERVICE_HOST: '10.0.0.1', OP_NODE_SERVICE_PORT: '9545', OP_NODE_SERVICE_PORT_RPC: '9545' },
      ...{ OP_NODE_PORT: 'tcp://10.0.0.1:9545', OP_NODE_PORT_9545_TCP_ADDR: '10.0.0.1' },
    }
    for (const program of PROGRAMS) expect((await start(program, env)).warnings, program.name).toEqual([])
  })

  it('is reported even if it ends like a variable of a Kubernetes service', async () => {
    const { warnings } = await start(rollupNodeProgram, { OP_NODE_RCP_PORT: '9545' })
    expect(warnings).toEqual([expect.stringMatching(/OP_NODE_RCP_PORT .* OP_NODE_RPC_PORT$/)])
  })

  it('is only counted if there are many', async () => {
    const names = Array.from({ length: 20 }, (_, index) => `OP_NODE_NO_${index}`)
    const { warnings } = await start(rollupNodeProgram, Object.fromEntries(names.map((name) => [name, 'x'])))
    expect(warnings).toHaveLength(9)
    expect(warnings.at(-1)).toBe('12 more unknown variables are ignored')
  })
})
