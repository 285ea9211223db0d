// What `npm install` runs: changes the libraries of patches/ wherever npm has put them, beside this package or above it.
// Plain JavaScript, of node: alone: whatever Node the machine has runs it. What is patched already stays as it is.
import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const failures = []
for (const name of readdirSync(join(root, 'patches'))) {
  if (!name.endsWith('.patch')) continue
  for (const [path, hunks] of filesOf(readFileSync(join(root, 'patches', name), 'utf8'))) {
    const problem = patch(path, hunks)
    if (problem !== undefined) failures.push(`${name}: ${problem}`)
  }
}
if (failures.length > 0) {
  console.error(`devium: libraries without their patches (patches/README.md says what for):\n${failures.join('\n')}`)
  process.exit(1)
}

/** Hunks by file: the lines that are to be found, and those that take their place. */
function filesOf(text) {
  const files = new Map()
  let hunks = []
  for (const line of text.split('\n')) {
    if (line.startsWith('+++ b/')) {
      hunks = []
      files.set(line.slice('+++ b/'.length), hunks)
    } else if (line.startsWith('@@')) hunks.push({ before: [], after: [] })
    else if (/^[ +-]/.test(line) && !line.startsWith('---')) {
      if (!line.startsWith('+')) hunks.at(-1)?.before.push(line.slice(1))
      if (!line.startsWith('-')) hunks.at(-1)?.after.push(line.slice(1))
    }
  }
  return files
}

/** What went wrong, if anything did. */
function patch(path, hunks) {
  const file = find(path)
  if (file === undefined) return `${path} is not installed`
  const original = readFileSync(file, 'utf8')
  let text = original
  for (const { before, after } of hunks) {
    const wanted = after.join('\n')
    if (text.includes(wanted)) continue
    const start = text.indexOf(before.join('\n'))
    if (start < 0) return `${file} is another version`
    text = text.slice(0, start) + wanted + text.slice(start + before.join('\n').length)
  }
  if (text === original) return undefined
  // A file of its own: some package managers share one among all projects of a machine.
  writeFileSync(`${file}.patched`, text)
  renameSync(`${file}.patched`, file)
  return undefined
}

/** As Node looks for packages: in the node_modules of this folder, or of one above. */
function find(path) {
  for (let folder = root; ; folder = dirname(folder)) {
    const file = join(folder, path)
    if (existsSync(file)) return file
    if (folder === dirname(folder)) return undefined
  }
}
