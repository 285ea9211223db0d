import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire, stripTypeScriptTypes } from 'node:module'
import { basename, dirname, extname, join } from 'node:path'
import { DeviumError } from '../../lib/errors.ts'

export interface PageFile {
  content: string
  type: string
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.ts': 'text/javascript; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
}

/** The chart library's files under the page's names. */
const LIBRARY = { 'uplot.js': 'uplot/dist/uPlot.esm.js', 'uplot.css': 'uplot/dist/uPlot.min.css' }

/** Modules that the page shares with the programs, mostly so that both show the same texts. They import only each other. */
const SHARED = [
  'lib/formatNumber',
  'lib/semaphore',
  'lib/shortIds',
  'p2p/base/eventText',
  'p2p/base/scoreRows',
  'p2p/base/scoreTerms',
]

/** The folder of `dashboard/index.html`, above this file both in the sources and in the build. */
function pageFolder(): string {
  for (let folder = import.meta.dirname; ; folder = dirname(folder)) {
    const found = join(folder, 'dashboard')
    if (existsSync(join(found, 'index.html'))) return found
    if (folder === dirname(folder)) throw new DeviumError('page-missing', 'the files of the dashboard are missing')
  }
}

/**
 * Looks up a file of the page by its name in the URL. A file is read at its first request; modules lose their types
 * then. Throws when the page's files are missing.
 */
export function createPageFiles(): (name: string) => PageFile | undefined {
  const folder = pageFolder()
  const source = join(import.meta.dirname, '../..')
  const require = createRequire(import.meta.url)
  const paths = new Map([
    ...readdirSync(folder).map((name) => [name, join(folder, name)] as const),
    ...SHARED.map((path) => [`${basename(path)}.ts`, join(source, path + extname(import.meta.filename))] as const),
    ...Object.entries(LIBRARY).map(([name, path]) => [name, require.resolve(path)] as const),
  ])
  const files = new Map<string, PageFile>()
  return (name) => {
    const [path, type, known] = [paths.get(name), TYPES[extname(name)], files.get(name)]
    if (known !== undefined || path === undefined || type === undefined) return known
    const text = readFileSync(path, 'utf8')
    const file = { content: name.endsWith('.ts') ? toModule(text) : text, type }
    files.set(name, file)
    return file
  }
}

/** Browsers do not resolve package names, and all files are in one folder for them. */
function toModule(text: string): string {
  return stripTypeScriptTypes(text)
    .replaceAll(/from '\.[^']*\/(\w+)\.[jt]s'/g, "from './$1.ts'")
    .replaceAll(/from 'uplot'/g, "from './uplot.js'")
}
