import { mkdtemp, readdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Key } from 'interface-datastore'
import { beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import { UsageError } from '../../lib/errors.ts'
import { silentLogger } from '../../lib/logger.ts'
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

  it('wants a path', async () => {
    await expect(openPeerDatastore('', modules)).rejects.toThrow("use 'memory'")
  })
})
