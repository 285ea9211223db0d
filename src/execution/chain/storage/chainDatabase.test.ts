import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import { ClassicLevel } from 'classic-level'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { errorWith } from '../../../lib/testUtils/errorWith.ts'
import { ChainDatabase } from './chainDatabase.ts'
import { DatabaseBatch, tableRange } from './databaseBatch.ts'

const datadir = mkdtempSync(join(tmpdir(), 'devium-chain-database-'))
afterAll(() => rmSync(datadir, { recursive: true }))

const moduleOf = (file: string) => JSON.stringify(new URL(file, import.meta.url).href)

describe('chain database', () => {
  it('is not written again after a failed write, and keeps all earlier writes', async () => {
    const script = `
      import { ChainDatabase } from ${moduleOf('./chainDatabase.ts')}
      import { DatabaseBatch } from ${moduleOf('./databaseBatch.ts')}
      const onWriteError = ({ code, severity }) => console.log(code, severity)
      const database = await ChainDatabase.open(process.argv[1], { create: true, onWriteError })
      const put = (key, bytes) => {
        const batch = new DatabaseBatch()
        batch.put('code', Uint8Array.of(key), new Uint8Array(bytes))
        return database.write(batch, { sync: true }).then(() => true, () => false)
      }
      let written = 0
      while (await put(written, 5_000)) written++
      const large = database.largeBatch()
      large.put(Uint8Array.of(1), Uint8Array.of(1))
      const after = [await put(255, 1), await database.writeLarge(large).then(() => true, () => false)]
      console.log(written, ...after)`
    // The log file reaches the limit, as on a full disk.
    const run = ['-c', 'ulimit -f 64; exec "$@"', 'sh', process.execPath, '--input-type=module', '-e', script, datadir]
    const output = await textOf(spawn('sh', run, { stdio: ['ignore', 'pipe', 'inherit'] }).stdout)
    const [told = '', result = ''] = output.split('\n')
    expect(told).toBe('database-write critical')
    const written = Number.parseInt(result, 10)
    expect(written).toBeGreaterThan(1)
    expect(result).toBe(`${written} false false`)

    const database = await ChainDatabase.open(datadir, { create: false })
    for (let key = 0; key < written; key++) expect(database.code(Uint8Array.of(key))).toHaveLength(5_000)
    expect(database.code(Uint8Array.of(255))).toBeUndefined()
    await database.close()
  })

  it('is not written again after a failed clear', async () => {
    const told: string[] = []
    const onWriteError = ({ code }: { code: string }) => void told.push(code)
    const database = await ChainDatabase.open(join(datadir, 'cleared'), { create: true, onWriteError })
    const disk = vi.spyOn(ClassicLevel.prototype, 'clear').mockRejectedValueOnce(new Error('No space left on device'))
    const refusal = errorWith('database-write')
    await expect(database.clear(tableRange('u'))).rejects.toThrow(refusal)
    disk.mockRestore()
    await expect(database.write(new DatabaseBatch(), { sync: false })).rejects.toThrow(refusal)
    await expect(database.clear(tableRange('u'))).rejects.toThrow(refusal)
    expect(told).toEqual(['database-write'])
    await database.close()
  })
})
