import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire, stripTypeScriptTypes } from 'node:module'
import { dirname, extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { DeviumError } from '../../lib/errors.ts'
import { programFile } from '../../lib/workProcess/programFile.ts'
import { leanEnvironment } from '../../lib/workProcess/workProcess.ts'

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

/** Ten times what it has. */
const MAX_PAGE_BYTES = 8 * 1024 * 1024

/** Where `dashboard/index.html` stands above this file, whether that is run as it is or compiled. */
function pageFolder(): string {
  for (let folder = import.meta.dirname; ; folder = dirname(folder)) {
    const found = join(folder, 'dashboard')
    if (existsSync(join(found, 'index.html'))) return found
    if (folder === dirname(folder)) throw new DeviumError('page-missing', 'the files of the dashboard are not there')
  }
}

/**
 * Finds a file of the page by the name in its URL. They are read when first asked for, by a process of its own: what takes the
 * types out of them would stay in memory, some 12 MB of it, and hold the event loop. Throws where they are not there.
 */
export function createPageFiles(): (name: string) => Promise<PageFile | undefined> {
  pageFolder()
  let files: Promise<ReadonlyMap<string, PageFile>> | undefined
  return async (name) => {
    files ??= readInProcess()
    try {
      return (await files).get(name)
    } catch (error) {
      files = undefined
      throw error
    }
  }
}

async function readInProcess(): Promise<ReadonlyMap<string, PageFile>> {
  const main = programFile('pageFilesMain', import.meta.url)
  const args = ['--disable-warning=ExperimentalWarning', fileURLToPath(main)]
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    env: leanEnvironment(),
    maxBuffer: MAX_PAGE_BYTES,
  })
  return new Map(JSON.parse(stdout) as [string, PageFile][])
}

/** All that the page is made of: modules with their types taken out, styles, and the chart library. */
export function readPageFiles(): Map<string, PageFile> {
  const folder = pageFolder()
  const files = new Map<string, PageFile>()
  for (const name of readdirSync(folder)) {
    const type = TYPES[extname(name)]
    if (type === undefined) continue
    const text = readFileSync(join(folder, name), 'utf8')
    files.set(name, { content: name.endsWith('.ts') ? toModule(text) : text, type })
  }
  const require = createRequire(import.meta.url)
  for (const { name, from, type } of LIBRARY) {
    files.set(name, { content: readFileSync(require.resolve(from), 'utf8'), type })
  }
  return files
}

/** Browsers know no package names. */
function toModule(text: string): string {
  return stripTypeScriptTypes(text).replaceAll(/from 'uplot'/g, "from './uplot.js'")
}
