import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import type { GcMode } from '../../execution/chain/storage/statePruner.ts'
import type { Chain } from '../../execution/index.ts'
import { systemClock } from '../../lib/clock.ts'
import { describeError, UsageError } from '../../lib/errors.ts'
import type { RootLogger } from '../../lib/logger.ts'
import { Progress, type ProgressOptions, type ProgressSink, progressInLog } from '../../lib/progress.ts'
import { describeUnknown } from '../../lib/unknownMembers.ts'
import { flagKey } from '../shared/flags.ts'
import { createProgram, createProgramLogger, logFlags } from '../shared/program.ts'
import { ProgressLine } from '../shared/terminal/progressLine.ts'
import { VERSION } from '../shared/version.ts'
import { checkCompatFlags, gethCompatFlags } from './gethCompatFlags.ts'
import { gethFlags } from './gethFlags.ts'

export const gethProgram = {
  name: 'devium-geth',
  envPrefixes: ['DEVIUM_GETH', 'GETH'],
  flags: { ...gethFlags, ...gethCompatFlags },
}

export function createGethCommand(): Command {
  const program = createProgram({
    ...gethProgram,
    description: 'OP Stack execution client: EVM, state, Engine API, transaction pool and eth RPC',
    version: VERSION,
    run: async (values, context) => {
      // Loading the client takes longer than `--help` may take.
      const { runGeth } = await import('./runGeth.ts')
      await runGeth(values, values, context)
    },
  })
  program.enablePositionalOptions().addCommand(createInitCommand(program)).addCommand(createExecuteCommand())
  return program
    .addCommand(createExportCommand(program))
    .addCommand(createImportCommand(program))
    .addCommand(createDumpGenesisCommand(program))
}

interface DatadirCommand {
  name: string
  description: string
  endsBySignal?: boolean
  run(args: readonly string[], datadir: string, context: DatadirContext): Promise<void>
}

interface DatadirContext {
  gcMode: GcMode
  logger: RootLogger
  signal: AbortSignal
  /** On a terminal it rewrites one line; elsewhere it writes log lines. */
  sink: ProgressSink
}

/** A sub-command that works on the data directory. It takes the program's flags before its name or after it. */
function createDatadirCommand(program: Command, { run, ...spec }: DatadirCommand): Command {
  const command = createProgram({
    ...gethProgram,
    ...spec,
    version: VERSION,
    run: async (values, { signal, fail }) => {
      // Flags before the sub-command belong to the program.
      const before = optionsByKey(program)
      const [refused] = [...checkCompatFlags(before).refused, ...checkCompatFlags(values).refused]
      if (refused !== undefined) throw new UsageError(refused)
      // The environment has the lowest precedence.
      const given = optionsByKey(command)
      const datadir = given.datadir ?? before.datadir ?? values.datadir
      const modeBefore = given.gcmode === undefined ? before.gcmode : undefined
      const gcMode = modeBefore === undefined ? values.gcmode : gethFlags.gcmode.parse(modeBefore)
      const line = process.stdout.isTTY ? new ProgressLine(process.stdout) : undefined
      const logger = createProgramLogger(values, signal, line === undefined ? undefined : (text) => line.write(text))
      const sink = line ?? progressInLog(logger)
      try {
        await run(command.args, datadir, { gcMode, logger, signal, sink })
      } catch (error) {
        // An interrupted command must exit with an error, so that scripts do not take it for finished.
        if (signal.aborted) fail(signal.reason)
        throw error
      } finally {
        sink.end()
      }
    },
  })
  return command
}

function createInitCommand(program: Command): Command {
  return createDatadirCommand(program, {
    name: 'init',
    description: 'Write the genesis block of a genesis.json into a data directory',
    endsBySignal: true,
    run: async ([path], datadir, { logger, sink }) => {
      if (path === undefined) throw new UsageError('init: expected the path of a genesis.json')
      const { initChain, unknownChainConfigMembers } = await import('../../execution/index.ts')
      const genesis = readGenesis(path)
      for (const unknown of unknownChainConfigMembers(genesis)) logger.warn(describeUnknown(unknown), { file: path })
      const startProgress = (options: ProgressOptions) => new Progress({ clock: systemClock, sink }, options)
      const { hash, created } = await initChain(datadir, genesis, { startProgress })
      logger.info(created ? 'Successfully wrote genesis state' : 'Genesis state exists already', { datadir, hash })
    },
  }).argument('<genesis.json>', 'Genesis file in op-geth format')
}

function createExportCommand(program: Command): Command {
  return createDatadirCommand(program, {
    name: 'export',
    description: 'Write all blocks, or a range of blocks, to a file. A .gz file is compressed',
    run: async ([path, ...range], datadir, context) => {
      if (path === undefined) throw new UsageError('export: expected the path of a file')
      const { exportChain } = await import('./chainFiles.ts')
      await withChain(datadir, context, (chain) => exportChain({ chain, ...context }, path, range))
    },
  })
    .argument('<filename>', 'File of RLP blocks')
    .argument('[blockNumFirst]', 'First block. With a range, the command appends to the file')
    .argument('[blockNumLast]', 'Last block')
}

function createImportCommand(program: Command): Command {
  return createDatadirCommand(program, {
    name: 'import',
    description: 'Execute and store the blocks of exported files. A .gz file is decompressed',
    run: async (paths, datadir, context) => {
      const { importChain } = await import('./chainFiles.ts')
      await withChain(datadir, context, (chain) => importChain({ chain, ...context }, paths))
    },
  }).argument('<filename...>', 'Files of RLP blocks')
}

function createDumpGenesisCommand(program: Command): Command {
  return createDatadirCommand(program, {
    name: 'dumpgenesis',
    description: 'Print the genesis file of the data directory',
    endsBySignal: true,
    run: async (_, datadir) => {
      const { readGenesisFile } = await import('../../execution/index.ts')
      process.stdout.write(`${await readGenesisFile(datadir)}\n`)
    },
  }).alias('dump-genesis')
}

async function withChain(
  datadir: string,
  { gcMode, logger, signal }: DatadirContext,
  use: (chain: Chain) => Promise<void>,
): Promise<void> {
  const { openChain } = await import('../../execution/index.ts')
  await using opened = new AsyncDisposableStack()
  const chain = await openChain(datadir, { logger, clock: systemClock, signal }, { gcMode })
  opened.defer(() => chain.close())
  await use(chain)
}

function createExecuteCommand(): Command {
  const execute = createProgram({
    name: 'execute',
    description:
      'Execute blocks from files that contain the state they need. Prints one line per block; exit code 1 on a mismatch',
    version: VERSION,
    envPrefixes: gethProgram.envPrefixes,
    flags: logFlags,
    endsBySignal: true,
    run: async () => {
      const { executeFiles } = await import('./executeCommand.ts')
      if (!(await executeFiles(execute.args, (line) => process.stdout.write(`${line}\n`)))) process.exitCode = 1
    },
  })
  return execute.argument('[files...]', "Files in the format of kona's executor tests, plain or gzip")
}

function optionsByKey(program: Command): Record<string, string | undefined> {
  return Object.fromEntries(
    program.options.map((option) => [flagKey(option.name()), program.getOptionValue(option.attributeName())]),
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
