import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire, stripTypeScriptTypes } from 'node:module'
import { basename, dirname, extname, join } from 'node:path'
import { DeviumError } from '../../lib/errors.ts'

/** One file as it goes to a browser. */
export interface PageFile {
  content: string
  type: string
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.ts': 'text/javascript; charset=utf-8',
}

/** The chart library, by the names that the page knows it by. */
const LIBRARY = [
  { name: 'uplot.js', from: 'uplot/dist/uPlot.esm.js', type: 'text/javascript; charset=utf-8' },
  { name: 'uplot.css', from: 'uplot/dist/uPlot.min.css', type: 'text/css; charset=utf-8' },
] as const

/** What the page shares with the programs, so that both say the same: modules that need nothing but each other. */
const SHARED = ['lib/formatNumber', 'lib/shortIds', 'p2p/base/eventText', 'p2p/base/scoreRows', 'p2p/base/scoreTerms']

/** Where `dashboard/index.html` stands above this file, whether that is run as it is or compiled. */
function pageFolder(): string {
  for (let folder = import.meta.dirname; ; folder = dirname(folder)) {
    const found = join(folder, 'dashboard')
    if (existsSync(join(found, 'index.html'))) return found
    if (folder === dirname(folder)) throw new DeviumError('page-missing', 'the files of the dashboard are not there')
  }
}

/**
 * Finds a file of the page by the name in its URL. Each file is read when a browser first asks for it, and modules lose their types
 * then. Throws where the page's files are not there.
 */
export function createPageFiles(): (name: string) => PageFile | undefined {
  const folder = pageFolder()
  const require = createRequire(import.meta.url)
  const files = new Map<string, () => PageFile>()
  for (const name of readdirSync(folder)) {
    const type = TYPES[extname(name)]
    if (type === undefined) continue
    files.set(name, () => {
      const text = readFileSync(join(folder, name), 'utf8')
      return { content: name.endsWith('.ts') ? toModule(text) : text, type }
    })
  }
  const source = join(import.meta.dirname, '../..')
  for (const path of SHARED) {
    const file = join(source, `${path}${extname(import.meta.filename)}`)
    files.set(`${basename(path)}.ts`, () => ({
      content: toModule(readFileSync(file, 'utf8')),
      type: TYPES['.ts'] ?? '',
    }))
  }
  for (const { name, from, type } of LIBRARY) {
    files.set(name, () => ({ content: readFileSync(require.resolve(from), 'utf8'), type }))
  }
  const read = new Map<string, PageFile>()
  return (name) => {
    const file = read.get(name) ?? files.get(name)?.()
    if (file !== undefined) read.set(name, file)
    return file
  }
}

/** Browsers know no package names; all files stand in one folder for them. */
function toModule(text: string): string {
  return stripTypeScriptTypes(text)
    .replaceAll(/from '\.[^']*\/(\w+)\.[jt]s'/g, "from './$1.ts'")
    .replaceAll(/from 'uplot'/g, "from './uplot.js'")
}
