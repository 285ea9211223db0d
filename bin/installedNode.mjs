// Plain JavaScript with only node: imports, because any Node runs it before packages are known to be installed. If packages are
// missing, it ends the process with one line that names the command to run.
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const require = createRequire(import.meta.url)

/** The Node that runs TypeScript: this one, or the one installed with the package. */
export const installedNode = find()

function find() {
  // A package that is always installed. An image with its own Node may lack the package `node`.
  if (folderOf('prom-client') === undefined) fail(`nothing is installed here yet: run "npm ci" first, in ${root}`)
  if (Number(process.versions.node.split('.')[0]) >= 24) return process.execPath
  const folder = folderOf('node')
  if (folder === undefined) fail(`Node 24 or newer is needed, this is ${process.version}: run "npm ci" in ${root}`)
  return binaryIn(folder)
}

/** The install script of the package `node` puts the binary there. Another install script patches libraries. */
function binaryIn(folder) {
  const node = join(folder, 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
  if (!existsSync(node)) fail(`the install scripts have not run: run "npm rebuild" in ${dirname(dirname(folder))}`)
  return node
}

/** In a clone, tests and testnets need the patched libraries, whichever Node the machine has. */
export function requireScripts() {
  const folder = folderOf('node')
  if (folder !== undefined) binaryIn(folder)
}

function folderOf(library) {
  try {
    return dirname(require.resolve(`${library}/package.json`))
  } catch {
    return undefined
  }
}

function fail(problem) {
  console.error(`devium: ${problem}`)
  process.exit(1)
}
