import { Command, InvalidArgumentError, Option } from 'commander'
import { DeviumError, describeError, UsageError } from '../../lib/errors.ts'
import { createLogger, LOG_FORMATS, LOG_LEVELS, type RootLogger } from '../../lib/logger.ts'
import { whenAborted } from '../../lib/untilAborted.ts'
import { readVariable, unknownVariables, variableOf } from './environment.ts'
import { defaultText, type FlagSpec, type FlagTable, type FlagValues, flag, flagGroup, flagKey } from './flags.ts'

const levelFlag = flag.choice(LOG_LEVELS, 'info', 'Minimum level of log lines')

export const logFlags = flagGroup('Logging', {
  'log.level': { ...levelFlag, parse: (text: string) => levelFlag.parse(text.toLowerCase()) },
  'log.format': flag.choice(LOG_FORMATS, process.stdout.isTTY ? 'terminal' : 'text', 'Format of log lines'),
  'log.color': flag.boolean('Colours in the terminal format', { default: process.stdout.isTTY === true }),
  'log.pid': flag.boolean('Add the process id to every line'),
})

/** Creates a logger that logs `Stopping` as the first line after the signal aborts. `write` replaces standard output. */
export function createProgramLogger(
  { logLevel, logFormat, logColor, logPid }: FlagValues<typeof logFlags>,
  signal: AbortSignal,
  write?: (line: string) => void,
): RootLogger {
  const options = { level: logLevel, format: logFormat, color: logColor, pid: logPid }
  const logger = createLogger(write === undefined ? options : { ...options, write })
  whenAborted(signal, () => logger.info('Stopping', { reason: describeError(signal.reason) }))
  return logger
}

export interface ProgramSpec<T extends FlagTable> {
  name: string
  description: string
  version: string
  /** In order of precedence: the project's own prefix first, then the prefixes of the replaced program. */
  envPrefixes: readonly string[]
  flags: T
  /** A signal ends the program at once, because nothing has to be closed and its work may block the event loop. */
  endsBySignal?: boolean
  /** Runs until the signal aborts. An error ends the process with exit code 1 and one line. */
  run: (values: FlagValues<T>, context: RunContext) => Promise<void>
  env?: NodeJS.ProcessEnv
}

export interface RunContext {
  /** Aborts at the first SIGINT or SIGTERM. */
  signal: AbortSignal
  /** Stops the program with exit code 1 and this error. */
  fail: (error: unknown) => void
  /** Names of flags that the command line, the environment or the configuration file set. */
  given: ReadonlySet<string>
  warnings: readonly string[]
}

type Stopping = Pick<RunContext, 'signal' | 'fail'>

/** Creates a command with the spec's flags. `runProgram` runs it. Sub-commands may be added before. */
export function createProgram<T extends FlagTable>(spec: ProgramSpec<T>): Command {
  const command = new Command(spec.name)
    .description(spec.description)
    .version(spec.version, '--version', 'Print the version')
    .helpOption('--help', 'Show this help')
    .showSuggestionAfterError(true)
    // Hides commander's note on the value of a flag without argument.
    .configureHelp({ sortOptions: false, optionDescription: (option) => option.description })
    .configureOutput({ outputError: (text, write) => write(`${spec.name}: ${onOneLine(text)}`) })
    .allowExcessArguments(false)
  for (const flagSpec of Object.values(spec.flags)) command.addOption(toOption(flagSpec, spec.envPrefixes))
  command.action(async () => {
    const path = configPathOf(spec, command)
    // `--help` and most starts need no TOML parser.
    const file = path === undefined ? NO_FILE : (await import('./configFile.ts')).readConfigFile(path, spec.flags)
    const { values, given, warnings } = readFlags(spec, command.opts(), file)
    const run = (context: Stopping) => spec.run(values, { ...context, given, warnings })
    if (spec.endsBySignal === true) await run({ signal: new AbortController().signal, fail: throwIt })
    else await runUntilStopped(spec.name, run)
  })
  return command
}

/** Joins commander's error and its suggestion, which commander writes on two lines. */
export function onOneLine(text: string): string {
  return `${text
    .replace(/^error: /, '')
    .trimEnd()
    .replaceAll('\n', ' ')}\n`
}

/** Parses the command line, runs, and ends the process; never rejects. */
export async function runProgram(command: Command, argv: readonly string[] = process.argv): Promise<void> {
  try {
    await command.parseAsync(withoutUnknownValues(command, argv))
  } catch (error) {
    reportFatal(command.name(), error)
    process.exit(1)
  }
  // Timers of libraries (libp2p's last a second) would keep the process alive, and Node's own teardown can wait without
  // end, as after a testnet of fifty nodes.
  await new Promise<void>((resolve) => process.stdout.write('', () => resolve()))
  process.exit()
}

/** commander suggests a flag for `--rcp`, but not for `--rcp=value`. */
function withoutUnknownValues(command: Command, argv: readonly string[]): string[] {
  const known = new Set<string | undefined>()
  const collect = ({ options, commands }: Command): void => {
    for (const { long } of options) known.add(long ?? undefined)
    for (const sub of commands) collect(sub)
  }
  collect(command)
  return argv.map((argument) => {
    const [name = ''] = argument.split('=', 1)
    return name.startsWith('--') && !known.has(name) ? name : argument
  })
}

export function reportFatal(programName: string, error: unknown): void {
  const expected = error instanceof UsageError
  process.stderr.write(`${programName}: ${describeError(error)}\n`)
  if (!expected && readVariable('DEVIUM_DEBUG') !== undefined && error instanceof Error)
    process.stderr.write(`${error.stack}\n`)
}

/**
 * npm forwards a Ctrl-C that the terminal has already sent to the whole process group. A second signal within this time
 * counts as the same key press.
 */
const REPEATED_SIGNAL_MS = 300

/**
 * Gives `run` a signal that aborts at the first SIGINT or SIGTERM. A later SIGINT ends the process at once with exit code
 * 130. Resolves when `run` has stopped.
 */
export async function runUntilStopped(programName: string, run: (context: Stopping) => Promise<void>): Promise<void> {
  const controller = new AbortController()
  let failure: unknown
  let signalledAtMs: number | undefined
  const onSignal = (name: NodeJS.Signals) => {
    const sinceFirstMs = performance.now() - (signalledAtMs ?? Number.NEGATIVE_INFINITY)
    signalledAtMs ??= performance.now()
    if (controller.signal.aborted) {
      // A launcher may forward a SIGTERM that the whole process group has received.
      if (name !== 'SIGINT' || sinceFirstMs < REPEATED_SIGNAL_MS) return
      process.stderr.write(`${programName}: second ${name}, stopping at once\n`)
      process.exit(130)
    }
    controller.abort(new DeviumError('stopped', `received ${name}`))
  }
  const fail = (error: unknown) => {
    failure ??= error
    controller.abort(error)
  }
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
  try {
    await run({ signal: controller.signal, fail })
  } catch (error) {
    if (!controller.signal.aborted) failure ??= error
  } finally {
    // After a signal the handlers stay, so that a repeated signal does not change the exit code.
    if (signalledAtMs === undefined) process.off('SIGINT', onSignal).off('SIGTERM', onSignal)
  }
  if (failure !== undefined) {
    reportFatal(programName, failure)
    process.exit(1)
  }
}

function throwIt(error: unknown): never {
  throw error
}

function toOption(spec: FlagSpec<unknown>, envPrefixes: readonly string[]): Option {
  const [prefix = ''] = envPrefixes
  const text = spec.placeholder === undefined ? `--${spec.name} [true|false]` : `--${spec.name} ${spec.placeholder}`
  const byDefault = defaultText(spec)
  const shownDefault = byDefault === '' ? '' : ` (default ${byDefault})`
  const option = new Option(text, `${spec.description}${shownDefault} [${variableOf(spec, prefix)}]`)
  option.helpGroup(`${spec.group}:`)
  if (spec.hidden === true || spec.ignored === true) option.hideHelp()
  option.argParser((value: string, previous: string | undefined) => {
    try {
      spec.parse(value)
    } catch (error) {
      // Commander's message repeats the value.
      if (spec.secret === true) throw new UsageError(`--${spec.name}: ${describeError(error)}`)
      throw new InvalidArgumentError(describeError(error))
    }
    return spec.repeatable === true && previous !== undefined ? `${previous},${value}` : value
  })
  if (spec.placeholder === undefined) option.preset('true')
  return option
}

const NO_FILE: ReadonlyMap<string, string> = new Map()

/** The path of `--config`. A sub-command also accepts the flag before its name. */
function configPathOf<T extends FlagTable>(spec: ProgramSpec<T>, command: Command): string | undefined {
  const flagSpec: FlagSpec<unknown> | undefined = spec.flags.config
  if (flagSpec === undefined) return undefined
  const given = command.opts().config ?? command.parent?.opts().config ?? variableText(flagSpec, spec)?.text
  return given === '' ? undefined : given
}

/** The value of the first variable, by prefix, that sets the flag. */
function variableText<T extends FlagTable>(
  flagSpec: FlagSpec<unknown>,
  { envPrefixes, env = process.env }: ProgramSpec<T>,
): { variable: string; text: string } | undefined {
  for (const prefix of envPrefixes) {
    const variable = variableOf(flagSpec, prefix)
    const text = readVariable(variable, env)
    if (text !== undefined) return { variable, text }
  }
  return undefined
}

/** Precedence: command line, environment, configuration file, default. */
function readFlags<T extends FlagTable>(
  spec: ProgramSpec<T>,
  options: Record<string, string | undefined>,
  file: ReadonlyMap<string, string>,
): { values: FlagValues<T>; given: Set<string>; warnings: string[] } {
  const env = spec.env ?? process.env
  const values: Record<string, unknown> = {}
  const given = new Set<string>()
  const warnings = unknownVariables(spec.flags, spec.envPrefixes, env)
  for (const flagSpec of Object.values(spec.flags)) {
    // commander converts dashes to camel case and keeps dots.
    let text = options[flagSpec.name.replace(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())]
    if (text === undefined) {
      const found = variableText(flagSpec, spec)
      try {
        if (found !== undefined) flagSpec.parse(found.text)
      } catch (error) {
        throw new UsageError(`environment variable ${found?.variable}: ${describeError(error)}`)
      }
      text = found?.text ?? file.get(flagSpec.name)
    }
    values[flagKey(flagSpec.name)] = text === undefined ? flagSpec.default : flagSpec.parse(text)
    if (text === undefined) continue
    given.add(flagSpec.name)
    if (flagSpec.deprecatedFor !== undefined) {
      warnings.push(`--${flagSpec.name} is deprecated: use --${flagSpec.deprecatedFor}`)
    }
    if (flagSpec.ignored === true) warnings.push(`--${flagSpec.name} has no effect any more and is ignored`)
  }
  return { values: values as FlagValues<T>, given, warnings }
}
