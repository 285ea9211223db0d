import { existsSync, globSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import type { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { batchSubmitterProgram, createBatchSubmitterCommand } from '../src/cli/batchSubmitter/batchSubmitterCommand.ts'
import { createGethCommand, gethProgram } from '../src/cli/geth/gethCommand.ts'
import { createRollupNodeCommand, rollupNodeProgram } from '../src/cli/node/rollupNodeCommand.ts'
import { createDeviumCommand } from '../src/cli/operator/deviumCommand.ts'
import { readConfigFile } from '../src/cli/shared/configFile.ts'
import type { FlagTable } from '../src/cli/shared/flags.ts'
import { testnetFlags } from '../testnet/flags.ts'
import { commandLines, problemOf } from './support/commandLines.ts'
import { COMMAND_DOCUMENTS, documentedCommands, NOT_RUN, reasonNotToRun } from './support/documentedCommands.ts'

const ROOT = resolve(import.meta.dirname, '..')
const FOLDERS = ['assembly', 'bench', 'bin', 'dashboard', 'docs', 'packaging', 'patches', 'src', 'test', 'testnet']
const GENERATED = ['docs/flags.md', 'docs/rpc.md']
/** Three screens. */
const MAX_LINES = 160
/** All but the texts of pull requests, which speak of other repositories. */
const DOCUMENTS = [...globSync('*.md', { cwd: ROOT }), ...globSync(`{${FOLDERS.join(',')}}/**/*.md`, { cwd: ROOT })]
  .filter((path) => !path.startsWith('patches/@') && !path.includes('node_modules'))
  .sort()
const FOR_USERS = DOCUMENTS.filter((path) => path === 'README.md' || path.startsWith('docs/'))
const PROGRAMS: Readonly<Record<string, () => Command>> = {
  devium: createDeviumCommand,
  'devium--batcher': createRollupNodeCommand,
  'devium-node': createRollupNodeCommand,
  'devium-batch-submitter': createBatchSubmitterCommand,
  'devium-geth': createGethCommand,
}
const FLAGS: Readonly<Record<string, FlagTable>> = {
  'devium--batcher': rollupNodeProgram.flags,
  'devium-batch-submitter': batchSubmitterProgram.flags,
  'devium-geth': gethProgram.flags,
}
/** Flags of npm, vitest and other programs that a text names. */
const FLAGS_OF_OTHERS = ['--ignore-scripts', '--allow-scripts', '--update', '--help', '--rpc-url']

const textOf = (document: string): string => readFileSync(join(ROOT, document), 'utf8')

/** Files and folders of ours, from the root on; folders with a slash at the end. */
function paths(): string[] {
  const inside = FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true }).map(
      (entry) => join(entry.parentPath, entry.name).slice(ROOT.length) + (entry.isDirectory() ? '/' : ''),
    ),
  )
  return [...inside, ...FOLDERS.map((folder) => `/${folder}/`), ...readdirSync(ROOT).map((name) => `/${name}`)]
}

/** Code spans that look like a path of ours: `name.ts`, `folder/`, `src/folder`, `docs/grafana/alerts.yml`. */
function namedPaths(text: string): string[] {
  const ours = new RegExp(`^(${FOLDERS.join('|')})/`)
  return [...withoutBlocks(text).matchAll(/`([^`\n]+)`/g)]
    .map(([, code = '']) => code)
    .filter((code) => /^[\w./*@+-]+$/.test(code))
    .filter((code) => /\.(ts|mjs|md)$/.test(code) || /^[a-z][\w-]*\/$/.test(code) || ours.test(code))
}

function withoutBlocks(text: string): string {
  return text.replaceAll(/^```.*?^```/gms, '')
}

/** Targets of Markdown links and of pictures. */
function linksOf(text: string): string[] {
  const plain = withoutBlocks(text).replaceAll(/`[^`\n]*`/g, '')
  const links = [...plain.matchAll(/\]\(([^)\s]+)\)/g), ...plain.matchAll(/(?:src|srcset)="([^"]+)"/g)]
  return links.map(([, target = '']) => target).filter((target) => !/^https?:/.test(target))
}

/** Anchors of a document's headings, as GitHub makes them. */
function anchorsOf(text: string): string[] {
  return [...withoutBlocks(text).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

/** Undefined where the link leads somewhere. */
function problemOfLink(document: string, link: string): string | undefined {
  const [path = '', anchor] = link.split('#')
  const target = path === '' ? document : relative(ROOT, resolve(ROOT, dirname(document), path))
  if (!existsSync(join(ROOT, target))) return `${link}: no file ${target}`
  if (anchor === undefined || anchorsOf(textOf(target)).includes(anchor)) return undefined
  return `${link}: ${target} has no such heading`
}

/** Code spans that look like a name of the code: `EngineController`, `timeFault`, `NOT_PENALISED`. */
function namedIdentifiers(text: string): string[] {
  const names = [...withoutBlocks(text).matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code)
  return names.filter((name) => /^([A-Z][A-Z0-9_]{3,}|[a-z]+[A-Z]\w*|[A-Z][a-z]+[A-Z]\w*)$/.test(name))
}

/** Identifiers with the file that a text gives for them: `name` (`file.ts`), `name` in `file.ts`, `file.ts` (`name`). */
function placedIdentifiers(text: string): [name: string, path: string][] {
  const plain = withoutBlocks(text).replaceAll(/\s+/g, ' ')
  const before = [...plain.matchAll(/`(\w{4,})`(?: \(| in )`([\w./]+\.ts)`/g)]
  const after = [...plain.matchAll(/`([\w./]+\.ts)` \(`(\w{4,})`\)/g)]
  return [
    ...before.map(([, name = '', path = '']): [string, string] => [name, path]),
    ...after.map(([, path = '', name = '']): [string, string] => [name, path]),
  ]
}

/** All words of the code, for identifiers that documents name. */
function wordsOfCode(): Set<string> {
  const files = globSync(['{src,testnet,test,bench,dashboard}/**/*.ts', 'patches/*.patch', 'tsconfig.json'], {
    cwd: ROOT,
  })
  return new Set(files.flatMap((file) => textOf(file).match(/\w+/g) ?? []))
}

/** The command with all its sub-commands. */
function withSubCommands(command: Command): Command[] {
  return [command, ...command.commands.flatMap(withSubCommands)]
}

/** The file of a `toml` block, which begins with a remark: its path, and the program that reads it. */
function configProblem(block: string): string | undefined {
  const [, program = ''] = /^# \S+: (\S+)$/m.exec(block) ?? []
  const flags = FLAGS[program]
  if (flags === undefined) return `no program reads this:\n${block}`
  const folder = mkdtempSync(join(tmpdir(), 'devium-documents-'))
  try {
    writeFileSync(join(folder, 'config.toml'), block)
    readConfigFile(join(folder, 'config.toml'), flags)
    return undefined
  } catch (error) {
    return String(error)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

describe('documents', () => {
  const all = paths()
  const exists = (path: string): boolean => {
    const pattern = path.replace(/[.+]/g, '\\$&').replaceAll('*', '[^/]*')
    return all.some((known) => new RegExp(`/${pattern}/?$`).test(known))
  }

  it.each(DOCUMENTS)('%s names only existing files', (document) => {
    const named = namedPaths(textOf(document))
    if (document === 'ARCHITECTURE.md') expect(named.length).toBeGreaterThan(40)
    expect(named.filter((path) => !exists(path))).toEqual([])
  })

  it('for developers name only identifiers of the code', () => {
    const words = wordsOfCode()
    const developers = DOCUMENTS.filter((path) => !FOR_USERS.includes(path) || path.startsWith('docs/decisions'))
    const named = developers.flatMap((path) => namedIdentifiers(textOf(path)).map((name) => `${path}: ${name}`))
    expect(named.length).toBeGreaterThan(50)
    expect(named.filter((line) => !words.has(line.split(': ')[1] ?? ''))).toEqual([])
  })

  it('for developers name identifiers next to a file that contains them', () => {
    const developers = DOCUMENTS.filter((path) => !FOR_USERS.includes(path))
    const places = developers.flatMap((path) => placedIdentifiers(textOf(path)))
    expect(places.length).toBeGreaterThan(30)
    const missing = places.filter(([name, path]) => {
      const files = all.filter((known) => known.endsWith(`/${path}`))
      return !files.some((file) => new RegExp(`\\b${name}\\b`).test(textOf(file)))
    })
    expect(missing).toEqual([])
  })

  it.each(DOCUMENTS)('%s has only valid links', (document) => {
    const problems = linksOf(textOf(document)).flatMap((link) => problemOfLink(document, link) ?? [])
    expect(problems).toEqual([])
  })

  it.each(DOCUMENTS.filter((path) => !GENERATED.includes(path)))('%s has at most three screens', (document) => {
    expect(textOf(document).split('\n').length).toBeLessThanOrEqual(MAX_LINES)
  })

  it('can all be reached by links from README', () => {
    const reached = new Set(['README.md'])
    for (const document of reached) {
      if (!document.endsWith('.md')) continue
      for (const link of linksOf(textOf(document))) {
        const [path = ''] = link.split('#')
        if (path !== '') reached.add(relative(ROOT, resolve(ROOT, dirname(document), path)))
      }
    }
    expect(FOR_USERS.filter((document) => !reached.has(document))).toEqual([])
  })

  it.each(DOCUMENTS)('%s has only commands that the programs accept', (document) => {
    const problems = commandLines(textOf(document)).flatMap((line) => {
      const [name = '', ...words] = line.split(' ')
      const program = PROGRAMS[name]?.()
      const problem = program === undefined ? `no program ${name}` : problemOf(program, words)
      return problem === undefined ? [] : [`${line}: ${problem}`]
    })
    expect(problems).toEqual([])
  })

  it('use every program', () => {
    const lines = FOR_USERS.flatMap((document) => commandLines(textOf(document)))
    expect(new Set(lines.map((line) => line.split(' ')[0]))).toEqual(new Set(Object.keys(PROGRAMS)))
    expect(lines.length).toBeGreaterThan(100)
  })

  it.each(FOR_USERS)('%s names only flags that a program has', (document) => {
    const commands = Object.values(PROGRAMS).flatMap((create) => withSubCommands(create()))
    const known = new Set([
      ...FLAGS_OF_OTHERS,
      ...commands.flatMap(({ options }) => options.map(({ long }) => long)),
      ...Object.values(testnetFlags).map(({ name }) => `--${name}`),
    ])
    const text = textOf(document)
    // `--signer.*` stands for all flags that begin so.
    const spans = [...withoutBlocks(text).matchAll(/`(--[\w.-]*\w)(?![\w.*])/g)].map(([, name = '']) => name)
    const ofRunner = [...text.matchAll(/npm start -- ([^\n`]*)/g)].flatMap(
      ([, words = '']) => words.match(/--[\w-]+/g) ?? [],
    )
    expect([...spans, ...ofRunner].filter((name) => !known.has(name))).toEqual([])
  })

  it.each(DOCUMENTS.filter((document) => /^```toml$/m.test(textOf(document))))(
    '%s has only configuration files that a program reads',
    (document) => {
      const blocks = [...textOf(document).matchAll(/^```toml\n(.*?)^```/gms)].map(([, block = '']) => block)
      expect(blocks.flatMap((block) => configProblem(block) ?? [])).toEqual([])
    },
  )

  it("name every page of the operators' handbook as tried", () => {
    const tried: string[] = COMMAND_DOCUMENTS.flat()
    expect(FOR_USERS.filter((path) => path.startsWith('docs/operating') && !tried.includes(path))).toEqual([])
  })

  it('have only commands that test/system/testnet.test.ts runs or NOT_RUN names', () => {
    const commands = COMMAND_DOCUMENTS.flat().flatMap(documentedCommands)
    const unused = NOT_RUN.filter(([pattern]) => !commands.some((command) => pattern.test(command)))
    expect(unused).toEqual([])
    expect(commands.filter((command) => reasonNotToRun(command) === undefined).length).toBeGreaterThan(50)
  })

  it('include every long test in test:all', () => {
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

  it('name only existing npm scripts', () => {
    const { scripts }: { scripts: Record<string, string> } = JSON.parse(
      readFileSync(join(ROOT, 'package.json'), 'utf8'),
    )
    for (const document of DOCUMENTS) {
      const named = [...textOf(document).matchAll(/npm run ([\w:]+)/g)].map(([, name = '']) => name)
      expect(named.filter((name) => scripts[name] === undefined)).toEqual([])
    }
  })
})
