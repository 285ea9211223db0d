import { homedir } from 'node:os'
import { formatDuration } from '../lib/duration.ts'
import { batchSubmitterFlags } from './batchSubmitterFlags.ts'
import type { FlagSpec, FlagTable } from './flags.ts'
import { gethCompatFlags } from './gethCompatFlags.ts'
import { gethFlags } from './gethFlags.ts'
import { p2pFlags } from './p2pFlags.ts'
import { rollupNodeFlags } from './rollupNodeFlags.ts'

interface FlagChapter {
  program: string
  envPrefix: string
  flags: FlagTable
}

const CHAPTERS: readonly FlagChapter[] = [
  { program: 'devium--batcher', envPrefix: 'DEVIUM_NODE', flags: { ...rollupNodeFlags, ...p2pFlags } },
  { program: 'devium-batch-submitter', envPrefix: 'DEVIUM_BATCH_SUBMITTER', flags: batchSubmitterFlags },
  { program: 'devium-geth', envPrefix: 'DEVIUM_GETH', flags: { ...gethFlags, ...gethCompatFlags } },
]

const INTRODUCTION = `# Flags

Made from the declarations in \`src/cli\`, which make \`--help\` as well; a test keeps this file up to date.

Each flag can be set by environment variable too. A list may be given several times, or with commas. Flags that are accepted for
compatibility and do nothing are left out; so are those that \`--help\` hides.

An address may hold user and password: \`https://user:password@host\`, with \`%40\` for an \`@\` in them. They are sent as Basic
authorization. Logs, errors, metrics and the page show only scheme, host and port of an address.`

/** The flags of the three programs as Markdown, for docs/flags.md. */
export function flagsDocument(): string {
  return `${[INTRODUCTION, ...CHAPTERS.map(chapter)].join('\n\n')}\n`
}

function chapter({ program, envPrefix, flags }: FlagChapter): string {
  const shown = Object.values(flags).filter(({ hidden, ignored }) => hidden !== true && ignored !== true)
  const groups = [...Map.groupBy(shown, ({ group }) => group)].map(([name, rows]) => group(name, rows, envPrefix))
  return [`## ${program}`, ...groups].join('\n\n')
}

function group(name: string, flags: readonly FlagSpec<unknown>[], envPrefix: string): string {
  const rows = flags.map((spec) => {
    const { description, placeholder = '' } = spec
    const flag = `\`--${spec.name}${placeholder === '' ? '' : ` ${placeholder}`}\``
    const variable = `\`${envPrefix}_${spec.env ?? spec.name.toUpperCase().replace(/[.-]/g, '_')}\``
    return `| ${[flag, defaultOf(spec), description, variable].map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  })
  return `### ${name}\n\n| flag | default | | environment |\n|---|---|---|---|\n${rows.join('\n')}`
}

/** Depends on where the program runs: not the same in each document. */
const BY_TERMINAL = new Set(['log.format', 'log.color'])

function defaultOf({ name, default: value, placeholder }: FlagSpec<unknown>): string {
  if (BY_TERMINAL.has(name)) return 'by terminal'
  if (value === undefined || value === '') return ''
  if (typeof value === 'object' && value !== null && Object.keys(value).length === 0) return ''
  return placeholder === '<duration>' ? formatDuration(Number(value)) : String(value).replace(homedir(), '~')
}
