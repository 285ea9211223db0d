import { homedir } from 'node:os'
import { batchSubmitterProgram } from '../batchSubmitter/batchSubmitterCommand.ts'
import { gethProgram } from '../geth/gethCommand.ts'
import { rollupNodeProgram } from '../node/rollupNodeCommand.ts'
import { variableOf } from './environment.ts'
import { defaultText, type FlagSpec, type FlagTable } from './flags.ts'
import type { ProgramSpec } from './program.ts'

const CHAPTERS: readonly Pick<ProgramSpec<FlagTable>, 'name' | 'envPrefixes' | 'flags'>[] = [
  rollupNodeProgram,
  batchSubmitterProgram,
  gethProgram,
]

const INTRODUCTION = `# Flags

Generated from the declarations in \`src/cli\`, as is \`--help\`. A test keeps this file up to date.

An environment variable or a configuration file (\`--config\`) can set each flag too. An empty variable counts as not set. A variable
that belongs to no flag causes a warning with the most similar name. A list takes commas, or the flag several times. This page omits
flags that do nothing and exist for compatibility, and flags that \`--help\` hides.

An address may contain user and password: \`https://user:password@host\`, with \`%40\` for an \`@\` in them. Requests send them as Basic
authorization. Logs, errors, metrics and the page show only scheme, host and port of an address.`

/** The flags of the three programs as Markdown, for docs/flags.md. */
export function flagsDocument(): string {
  return `${[INTRODUCTION, ...CHAPTERS.map(chapter)].join('\n\n')}\n`
}

function chapter({ name, envPrefixes: [prefix = ''], flags }: (typeof CHAPTERS)[number]): string {
  const shown = Object.values(flags).filter(({ hidden, ignored }) => hidden !== true && ignored !== true)
  const groups = [...Map.groupBy(shown, ({ group }) => group)].map(([heading, rows]) => group(heading, rows, prefix))
  return [`## ${name}`, ...groups].join('\n\n')
}

function group(name: string, flags: readonly FlagSpec<unknown>[], envPrefix: string): string {
  const rows = flags.map((spec) => {
    const { description, placeholder = '' } = spec
    const flag = `\`--${spec.name}${placeholder === '' ? '' : ` ${placeholder}`}\``
    const variable = `\`${variableOf(spec, envPrefix)}\``
    return `| ${[flag, defaultOf(spec), description, variable].map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  })
  return `### ${name}\n\n| flag | default | | environment |\n|---|---|---|---|\n${rows.join('\n')}`
}

/** The defaults of these flags depend on the terminal, so the document shows no value. */
const BY_TERMINAL = new Set(['log.format', 'log.color'])

function defaultOf(spec: FlagSpec<unknown>): string {
  return BY_TERMINAL.has(spec.name) ? 'by terminal' : defaultText(spec).replace(homedir(), '~')
}
