import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { describeError, UsageError } from '../lib/errors.ts'
import { checkCompatFlags, gethCompatFlags } from './gethCompatFlags.ts'
import { gethFlags } from './gethFlags.ts'
import { createProgram, createProgramLogger, logFlags, runProgram } from './program.ts'
import { VERSION } from './version.ts'

const ENV_PREFIXES = ['DEVIUM_GETH', 'GETH']

function createGethCommand(): Command {
  const program = createProgram({
    name: 'devium-geth',
    description: 'OP Stack execution client: EVM, state, Engine API, transaction pool and eth RPC',
    version: VERSION,
    envPrefixes: ENV_PREFIXES,
    flags: { ...gethFlags, ...gethCompatFlags },
    run: async (values, context) => {
      // What the client is made of takes longer to load than --help may take.
      const { runGeth } = await import('./runGeth.ts')
      await runGeth(values, values, context)
    },
  })
  return program.enablePositionalOptions().addCommand(createInitCommand(program)).addCommand(createExecuteCommand())
}

function createInitCommand(program: Command): Command {
  const init = createProgram({
    name: 'init',
    description: 'Write the genesis block of a genesis.json into a data directory',
    version: VERSION,
    envPrefixes: ENV_PREFIXES,
    flags: { ...gethFlags, ...gethCompatFlags },
    run: async (values) => {
      // Flags before the sub-command are the program's.
      const before = optionsByName(program)
      const [refused] = [...checkCompatFlags(before).refused, ...checkCompatFlags(values).refused]
      if (refused !== undefined) throw new UsageError(refused)
      const [path] = init.args
      if (path === undefined) throw new UsageError('init: the path of a genesis.json is missing')
      // The environment counts last.
      const datadir = optionsByName(init).datadir ?? before.datadir ?? values.datadir
      const { initChain } = await import('../execution/index.ts')
      const logger = createProgramLogger(values)
      const { hash, created } = await initChain(datadir, readGenesis(path))
      logger.info(created ? 'Successfully wrote genesis state' : 'Genesis state is there already', { datadir, hash })
    },
  })
  return init.argument('<genesis.json>', 'Genesis file in op-geth format')
}

function createExecuteCommand(): Command {
  const execute = createProgram({
    name: 'execute',
    description: 'Execute blocks from files that hold all they touch; a line for each, exit code 1 on a mismatch',
    version: VERSION,
    envPrefixes: ENV_PREFIXES,
    flags: logFlags,
    run: async () => {
      const { executeFiles } = await import('./executeCommand.ts')
      if (!(await executeFiles(execute.args, (line) => process.stdout.write(`${line}\n`)))) process.exitCode = 1
    },
  })
  return execute.argument('[files...]', "Files of the form of kona's executor tests, plain or gzip")
}

function optionsByName(program: Command): Record<string, string | undefined> {
  return Object.fromEntries(
    program.options.map((option) => [option.name(), program.getOptionValue(option.attributeName())]),
  )
}

function readGenesis(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch (cause) {
    const problem = cause instanceof SyntaxError ? 'is not JSON' : 'cannot be read'
    throw new UsageError(`genesis file ${path} ${problem}: ${describeError(cause)}`, { cause })
  }
}

await runProgram(createGethCommand())
