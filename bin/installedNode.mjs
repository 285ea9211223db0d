// Plain JavaScript, of node: alone: it runs before anything is known to be installed, by whatever Node the machine has. Where
// packages are missing, whoever imports it ends with one line that says what to run.
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const require = createRequire(import.meta.url)

/** The Node that runs TypeScript: this one, or the one that is installed with the package. */
export const installedNode = find()

function find() {
  // One of the packages that are always there: an image with a Node of its own may lack the package of Node.
  if (folderOf('prom-client') === undefined) fail(`nothing is installed here yet: run "npm ci" first, in ${root}`)
  if (Number(process.versions.node.split('.')[0]) >= 24) return process.execPath
  const folder = folderOf('node')
  if (folder === undefined) fail(`Node 24 or newer is needed, this is ${process.version}: run "npm ci" in ${root}`)
  return binaryIn(folder)
}

/** Its install script puts it there, as another one changes libraries. */
function binaryIn(folder) {
  const node = join(folder, 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
  if (!existsSync(node)) fail(`the install scripts have not run: run "npm rebuild" in ${dirname(dirname(folder))}`)
  return node
}

/** In a clone: whatever Node the machine has, tests and testnets need the changes of libraries. */
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
