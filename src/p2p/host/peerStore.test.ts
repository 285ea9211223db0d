import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ClassicLevel } from 'classic-level'
import { Key } from 'interface-datastore'
import { beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import { describeError } from '../../lib/errors.ts'
import { silentLogger } from '../../lib/logger.ts'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { folderInTest } from '../testUtils/inTest.ts'
import { recordedLog } from '../testUtils/recordedLog.ts'
import { openPeerDatastore } from './peerStore.ts'

const modules = { logger: silentLogger, clock: new ManualClock(1_000) }
let folder: string
let path: string
beforeEach(async () => {
  folder = await folderInTest()
  path = join(folder, 'store')
})

describe('openPeerDatastore', () => {
  /** A child process that holds the open store with one entry. */
  const HOLDER = `
    const { ClassicLevel } = await import('classic-level')
    await new ClassicLevel(process.argv[1]).put('/a', 'value')
    console.log('written')
    process.stdin.resume()`

  it('refuses a store that another process has open, names it, and loses no entry when that process is killed', async () => {
    const holder = spawn(process.execPath, ['--input-type=module', '-e', HOLDER, path], { cwd: import.meta.dirname })
    const ended = once(holder, 'exit')
    await once(holder.stdout, 'data')
    const refused = openPeerDatastore(path, modules)
    await expect(refused).rejects.toThrow(errorWith('usage', path, 'another process'))
    holder.kill('SIGKILL')
    await ended
    const { datastore, close } = await openPeerDatastore(path, modules)
    expect(await datastore?.has(new Key('/a'))).toBe(true)
    await close()
    expect(await readdir(folder)).toEqual(['store'])
  })

  const manifestOf = async (path: string): Promise<string> =>
    join(path, (await readdir(path)).find((name) => name.startsWith('MANIFEST')) ?? 'none')

  const putOne = async (path: string, key: string): Promise<void> => {
    const level = new ClassicLevel(path)
    await level.put(key, 'value')
    await level.close()
  }

  it.each<[string, (path: string) => Promise<void>]>([
    ['a CURRENT that names nothing', (path) => writeFile(join(path, 'CURRENT'), 'MANIFEST-999999\n')],
    ['an empty CURRENT', (path) => writeFile(join(path, 'CURRENT'), '')],
    ['a CURRENT of garbage', (path) => writeFile(join(path, 'CURRENT'), randomBytes(200))],
    ['half a MANIFEST', async (path) => truncate(await manifestOf(path), 20)],
    ['an empty MANIFEST', async (path) => truncate(await manifestOf(path), 0)],
    ['no MANIFEST', async (path) => rm(await manifestOf(path))],
    ['a MANIFEST of garbage', async (path) => writeFile(await manifestOf(path), randomBytes(200))],
    ['no CURRENT', (path) => rm(join(path, 'CURRENT'))],
    ["op-node's entries", (path) => putOne(path, '/peers/addrs/AASQQCECCDQXUWC5J7XHUZ2YHUZQ7KHF7C6ZOGYYWVZIQ')],
  ])('moves a store with %s aside, logs it and starts an empty one', async (_damage, damage) => {
    const whole = await openPeerDatastore(path, modules)
    await whole.datastore?.put(new Key('/a'), Uint8Array.of(1))
    await whole.close()
    await damage(path)
    const { logger, lines } = recordedLog('error', 'text')
    const store = await openPeerDatastore(path, { ...modules, logger })
    expect((await readdir(folder)).sort()).toEqual(['store', 'store.corrupt-1000'])
    expect(lines).toHaveLength(1)
    expect(lines[0]).toContain('Peer store is damaged')
    await store.datastore?.put(new Key('/b'), Uint8Array.of(2))
    await store.close()
  })

  it("moves only the store's own files into a subfolder if the folder itself cannot be moved", async () => {
    await putOne(path, '/a')
    await writeFile(join(path, 'CURRENT'), 'garbage')
    await writeFile(join(path, 'key.txt'), '')
    await mkdir(join(folder, 'store.corrupt-1000', 'taken'), { recursive: true })
    const store = await openPeerDatastore(path, modules)
    expect(await readdir(path)).toEqual(expect.arrayContaining(['corrupt-1000', 'key.txt']))
    expect(await readFile(join(path, 'corrupt-1000', 'CURRENT'), 'utf8')).toBe('garbage')
    await store.close()
    await (await openPeerDatastore(path, modules)).close()
  })

  it.skipIf(!existsSync('/dev/full'))('does not report a full disk as damage', async () => {
    await putOne(path, '/a')
    // The table that the entry is moved to when the store is opened again.
    await symlink('/dev/full', join(path, '000005.ldb'))
    const problem = await openPeerDatastore(path, modules).catch((error: unknown) => error)
    expect(problem).toEqual(errorWith('usage', path))
    expect(describeError(problem)).toContain('No space left on device')
    expect(await readdir(folder)).toEqual(['store'])
  })

  it('finds damage that appears only when entries are read', async () => {
    const level = new ClassicLevel(path)
    for (let n = 0; n < 500; n++) await level.put(`/key/${n}`, randomBytes(60).toString('hex'))
    await level.compactRange('/', '~')
    await level.close()
    for (const name of (await readdir(path)).filter((file) => file.endsWith('.ldb'))) {
      const bytes = await readFile(join(path, name))
      await writeFile(join(path, name), bytes.fill(0xff, 2_000, 2_400))
    }
    const { logger, lines } = recordedLog('error', 'text')
    const store = await openPeerDatastore(path, { ...modules, logger })
    expect((await readdir(folder)).sort()).toEqual(['store', 'store.corrupt-1000'])
    expect(lines).toHaveLength(1)
    await store.close()
  })
})
