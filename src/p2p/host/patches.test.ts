import { execFile } from 'node:child_process'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { checkPatches } from './patches.ts'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

/** A folder with this library in its published form. */
async function unpatched(library: string, patch: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'devium-unpatched-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  await cp(join(ROOT, 'node_modules', library), join(folder, 'node_modules', library), { recursive: true })
  await promisify(execFile)('git', ['apply', '-R', join(ROOT, 'patches', patch)], { cwd: folder })
  return `file://${folder}/`
}

it('all patches against hostile peers are present after an install', () => checkPatches())

it.each([
  ['@libp2p/utils', '@libp2p+utils+7.4.1.patch'],
  ['@libp2p/multistream-select', '@libp2p+multistream-select+7.0.28.patch'],
  ['@libp2p/identify', '@libp2p+identify+4.1.14.patch'],
  ['@libp2p/yamux', '@libp2p+yamux+8.0.3.patch'],
  ['@chainsafe/discv5', '@chainsafe+discv5+11.0.0.patch'],
])('a copy of %s without its patch is refused with the command that mends it', async (library, patch) => {
  const folder = await unpatched(library, patch)
  const entryOf = (name: string): string => {
    const entry = import.meta.resolve(name)
    return name === library ? entry.replace(/^.*\/node_modules\//, `${folder}node_modules/`) : entry
  }
  await expect(checkPatches(entryOf)).rejects.toThrow(errorWith('usage', library, '/bin/applyPatches.mjs'))
})
