import { randomBytes } from 'node:crypto'
import { mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ClassicLevel } from 'classic-level'
import { Key } from 'interface-datastore'
import { beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import { UsageError } from '../../lib/errors.ts'
import { createLogger, silentLogger } from '../../lib/logger.ts'
import { openPeerDatastore } from './peerStore.ts'

const modules = { logger: silentLogger, clock: new ManualClock(1_000) }
let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'devium-peerstore-'))
})

describe('openPeerDatastore', () => {
  it('keeps what is stored', async () => {
    const path = join(folder, 'store')
    const first = await openPeerDatastore(path, modules)
    await first.datastore?.put(new Key('/a'), Uint8Array.of(1))
    await first.close()
    const second = await openPeerDatastore(path, modules)
    expect([...((await second.datastore?.get(new Key('/a'))) ?? [])]).toEqual([1])
    await second.close()
  })

  it('refuses a store that is open already, and leaves it alone', async () => {
    const path = join(folder, 'store')
    const first = await openPeerDatastore(path, modules)
    await expect(openPeerDatastore(path, modules)).rejects.toThrow('in use by another process')
    await expect(openPeerDatastore(path, modules)).rejects.toBeInstanceOf(UsageError)
    expect(await readdir(folder)).toEqual(['store'])
    await first.close()
  })

  it('sets a damaged store aside and starts an empty one', async () => {
    const path = join(folder, 'store')
    await (await openPeerDatastore(path, modules)).close()
    await writeFile(join(path, 'CURRENT'), 'MANIFEST-999999\n')
    const store = await openPeerDatastore(path, modules)
    expect((await readdir(folder)).sort()).toEqual(['store', 'store.corrupt-1000'])
    await store.close()
  })

  it('finds damage that only reading shows', async () => {
    const path = join(folder, 'store')
    const level = new ClassicLevel(path)
    for (let n = 0; n < 500; n++) await level.put(`/key/${n}`, randomBytes(60).toString('hex'))
    await level.compactRange('/', '~')
    await level.close()
    for (const name of (await readdir(path)).filter((file) => file.endsWith('.ldb'))) {
      const bytes = await readFile(join(path, name))
      await writeFile(join(path, name), bytes.fill(0xff, 2_000, 2_400))
    }
    const lines: string[] = []
    const logger = createLogger({ level: 'error', format: 'text', color: false, write: (line) => lines.push(line) })
    const store = await openPeerDatastore(path, { ...modules, logger })
    expect((await readdir(folder)).sort()).toEqual(['store', 'store.corrupt-1000'])
    expect(lines).toHaveLength(1)
    await store.close()
  })

  it('wants a path', async () => {
    await expect(openPeerDatastore('', modules)).rejects.toThrow("use 'memory'")
  })
})
