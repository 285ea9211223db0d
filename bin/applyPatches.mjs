// Run by `npm install`: applies patches/ to the libraries wherever npm has put them, beside this package or above it. It is plain
// JavaScript with only node: imports, so any Node runs it. Patched files stay unchanged.
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

/** Hunks by file: the lines to find, and their replacements. */
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

/** Returns the error text, or undefined. */
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
  // Writes a new file, because some package managers share files among projects.
  writeFileSync(`${file}.patched`, text)
  renameSync(`${file}.patched`, file)
  return undefined
}

/** Finds a package as Node does: in node_modules of this folder, or of a parent folder. */
function find(path) {
  for (let folder = root; ; folder = dirname(folder)) {
    const file = join(folder, path)
    if (existsSync(file)) return file
    if (folder === dirname(folder)) return undefined
  }
}
