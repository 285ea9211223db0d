import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { createBatchSubmitterCommand } from '../src/cli/batchSubmitter/batchSubmitterCommand.ts'
import { createGethCommand } from '../src/cli/geth/gethCommand.ts'
import { createRollupNodeCommand } from '../src/cli/node/rollupNodeCommand.ts'
import { createDeviumCommand } from '../src/cli/operator/deviumCommand.ts'
import { commandLines, problemOf } from './support/commandLines.ts'
import { COMMAND_DOCUMENTS, documentedCommands, NOT_RUN, reasonNotToRun } from './support/documentedCommands.ts'

const ROOT = resolve(import.meta.dirname, '..')
const FOLDERS = ['assembly', 'bench', 'bin', 'dashboard', 'docs', 'packaging', 'patches', 'src', 'test', 'testnet']
const OPERATORS = [
  ...['README.md', 'docs/operating.md', 'docs/peer-scores.md', 'docs/troubleshooting.md'],
  ...['docs/testnet.md', 'docs/deploy/README.md'],
]
const DOCUMENTS = [
  ...OPERATORS,
  'ARCHITECTURE.md',
  'docs/dapps.md',
  'docs/flags.md',
  'docs/interfaces.md',
  'docs/rpc.md',
  'bench/README.md',
  'src/jsonRpc/README.md',
  'src/l1/README.md',
  'src/lib/README.md',
  'src/p2p/OFFENCES.md',
  'src/rollup/README.md',
]
const PROGRAMS: Readonly<Record<string, () => Command>> = {
  devium: createDeviumCommand,
  'devium--batcher': createRollupNodeCommand,
  'devium-batch-submitter': createBatchSubmitterCommand,
  'devium-geth': createGethCommand,
}

/** Files and folders of ours, from the root on; folders with a slash at the end. */
function paths(): string[] {
  const inside = FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true }).map(
      (entry) => join(entry.parentPath, entry.name).slice(ROOT.length) + (entry.isDirectory() ? '/' : ''),
    ),
  )
  return [...inside, ...FOLDERS.map((folder) => `/${folder}/`), ...readdirSync(ROOT).map((name) => `/${name}`)]
}

/** What a document names in code style that looks like a path of ours: `name.ts`, `folder/`, `src/folder`. */
function namedPaths(text: string): string[] {
  return [...text.matchAll(/`([^`\n]+)`/g)]
    .map(([, code = '']) => code)
    .filter((code) => /^[\w./*-]+$/.test(code))
    .filter(
      (code) => /\.(ts|mjs|md)$/.test(code) || /^[a-z][\w-]*\/$/.test(code) || /^(src|test|testnet|bench)\//.test(code),
    )
}

describe('documents', () => {
  const all = paths()
  const exists = (path: string): boolean => {
    const pattern = path.replace(/[.]/g, '\\.').replaceAll('*', '[^/]*')
    return all.some((known) => new RegExp(`/${pattern}/?$`).test(known))
  }

  it.each(DOCUMENTS)('%s names only files that are there', (document) => {
    const named = namedPaths(readFileSync(join(ROOT, document), 'utf8'))
    if (document === 'ARCHITECTURE.md') expect(named.length).toBeGreaterThan(40)
    expect(named.filter((path) => !exists(path))).toEqual([])
  })

  it.each(OPERATORS)('%s has only commands that the programs take', (document) => {
    const lines = commandLines(readFileSync(join(ROOT, document), 'utf8'))
    expect(lines.length).toBeGreaterThan(4)
    const problems = lines.flatMap((line) => {
      const [name = '', ...words] = line.split(' ')
      const program = PROGRAMS[name]?.()
      const problem = program === undefined ? `no program ${name}` : problemOf(program, words)
      return problem === undefined ? [] : [`${line}: ${problem}`]
    })
    expect(problems).toEqual([])
  })

  it('have commands that are run, and name those that are not (test/system/testnet.test.ts runs them)', () => {
    const commands = COMMAND_DOCUMENTS.flat().flatMap(documentedCommands)
    const unused = NOT_RUN.filter(([pattern]) => !commands.some((command) => pattern.test(command)))
    expect(unused).toEqual([])
    expect(commands.filter((command) => reasonNotToRun(command) === undefined).length).toBeGreaterThan(50)
  })

  it('leave no longer test out of test:all', () => {
    // What names something of this machine's, says how much of something random is tried, or where pictures go.
    const others = /^DEVIUM_(OP_\w+|KONA_NODE|GETH|PROPERTY_RUNS|ETHEREUM_TESTS\w*|CHROMIUM|PICTURES|\w+_(RUNS|SEED))$/
    const { scripts }: { scripts: Record<string, string> } = JSON.parse(
      readFileSync(join(ROOT, 'package.json'), 'utf8'),
    )
    const set = [...(scripts['test:all'] ?? '').matchAll(/(DEVIUM_\w+)=/g)].map(([, name = '']) => name)
    const files = readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
    const read = files
      .filter((file) => file.endsWith('.ts'))
      .map((file) => readFileSync(join(ROOT, 'test', file), 'utf8'))
      .flatMap((text) => [...text.matchAll(/process\.env\.(DEVIUM_\w+)|(DEVIUM_\w+)(?=[^\n]*= process\.env)/g)])
      .map(([, member, destructured]) => member ?? destructured ?? '')
    const switches = (names: string[]) => [...new Set(names)].filter((name) => !others.test(name)).toSorted()
    expect(switches(set)).toEqual(switches(read))
  })

  it('name npm scripts that are there', () => {
    const { scripts }: { scripts: Record<string, string> } = JSON.parse(
      readFileSync(join(ROOT, 'package.json'), 'utf8'),
    )
    for (const document of DOCUMENTS) {
      const text = readFileSync(join(ROOT, document), 'utf8')
      const named = [...text.matchAll(/npm run ([\w:]+)/g)].map(([, name = '']) => name)
      expect(named.filter((name) => scripts[name] === undefined)).toEqual([])
    }
  })
})
