import { existsSync, readFileSync } from 'node:fs'
import { chmod, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { silentLogger } from '../../lib/logger.ts'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { folderInTest } from '../testUtils/inTest.ts'
import { recordedLog } from '../testUtils/recordedLog.ts'
import { thrownBy } from '../testUtils/throwsOnly.ts'
import { identityFromRawKey, loadIdentity } from './identity.ts'
import { parsePeerId } from './multiaddrs.ts'
import { nodeIdOf } from './nodeId.ts'

const quiet = { logger: silentLogger }
let folder: string
beforeEach(async () => {
  folder = await folderInTest()
})

describe('loadIdentity', () => {
  it('creates a key file that only its owner can read, and loads the same peer id from it', async () => {
    const path = join(folder, 'deeper', 'key.txt')
    const first = await loadIdentity(quiet, { path })
    const second = await loadIdentity(quiet, { path })
    expect(second.peerId.toString()).toBe(first.peerId.toString())
    expect(first.peerId.toString()).toMatch(/^16Uiu2HA/)
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    expect(await readFile(path, 'utf8')).toMatch(/^[0-9a-f]{64}$/)
  })

  it('writes the key file atomically: a killed node leaves no partial key', async () => {
    const path = join(folder, 'key.txt')
    const starting = loadIdentity(quiet, { path })
    while (!existsSync(path)) await new Promise((resolve) => setImmediate(resolve))
    expect(readFileSync(path, 'utf8')).toHaveLength(64)
    await starting
    expect(await readdir(folder)).toEqual(['key.txt'])
  })

  it.skipIf(process.platform === 'win32').each([
    [0o600, 0],
    [0o400, 0],
    [0o640, 1],
    [0o604, 1],
  ])('warns when other users can read the key file, mode %o', async (mode, warnings) => {
    const path = join(folder, 'key.txt')
    await writeFile(path, '46'.repeat(32))
    await chmod(path, mode)
    const { logger, lines } = recordedLog('info', 'text')
    await loadIdentity({ logger }, { path })
    expect(lines).toHaveLength(warnings)
    for (const line of lines) {
      expect(line).toContain(`mode=0${mode.toString(8)}`)
      expect(line).not.toContain('4646')
    }
  })

  it('prefers the raw key to the key file', async () => {
    const rawKey = new Uint8Array(32).fill(7)
    const { peerId } = await loadIdentity(quiet, { rawKey, path: join(folder, 'absent.txt') })
    expect(peerId.toString()).toBe(identityFromRawKey(rawKey).peerId.toString())
    await expect(stat(join(folder, 'absent.txt'))).rejects.toThrow()
  })

  it.each<[string, string, (string | number)[]]>([
    ['not hex', `zz${'46'.repeat(31)}`, ['hex']],
    ['odd length', `${'46'.repeat(31)}4`, ['hex']],
    ['too short', '46'.repeat(31), [32, 31]],
    ['too long', '46'.repeat(33), [32, 33]],
    ['not below the group order', 'ff'.repeat(32), ['secp256k1']],
    ['zero', '00'.repeat(32), ['secp256k1']],
  ])('refuses a key file that is %s without printing its content', async (_id, text, named) => {
    const path = join(folder, 'key.txt')
    await writeFile(path, text)
    const error = await thrownBy(loadIdentity(quiet, { path }))
    expect(error).toEqual(errorWith('usage', '--p2p.priv.path', path, ...named))
    for (let current = error; current instanceof Error; current = current.cause) {
      expect(`${current.message}${current.stack}`).not.toContain(text.slice(0, 8))
    }
  })

  it('refuses to start without a path and without a key', async () => {
    await expect(loadIdentity(quiet, {})).rejects.toThrow(errorWith('usage', '--p2p.priv.path'))
  })
})

describe('nodeIdOf', () => {
  it("a node id is the keccak of the uncompressed key, as op-node's recorded peer shows", () => {
    // From a recording of opp2p_peers: peer id and node id of the same secp256k1 key.
    const recorded = '16Uiu2HAm5UcGBcvZtAYgnANxy7LGgmsAaC3HoKN8tcuH6Hyr2Er8'
    expect(nodeIdOf(parsePeerId(recorded))).toBe('e247a744d1af04a684c67bda1d07cd279f33503f5d01f46ffa41b388350d9efc')
  })
  it('a node id is zero for a key of another kind', () => {
    expect(nodeIdOf(parsePeerId('12D3KooWD3eckifWpRn9wQpMG9R9hX3sD158z7EqHWmweQAJU5SA'))).toBe('0'.repeat(64))
  })
})
