import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ClassicLevel } from 'classic-level'
import { expect, it } from 'vitest'
import { parseLevelStatistics } from './levelStatistics.ts'

it('parses the levels of a real database', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'devium-level-'))
  const level = new ClassicLevel<string, Uint8Array>(directory, { valueEncoding: 'view', compression: false })
  for (let key = 0; key < 24; key++) await level.put(String(key), new Uint8Array(1024 * 1024))
  await level.compactRange('0', '99')
  const statistics = parseLevelStatistics(level.getProperty('leveldb.stats'))
  await level.close()
  await rm(directory, { recursive: true })
  const sum = (name: 'tables' | 'sizeBytes' | 'writtenBytes') =>
    statistics.reduce((total, { [name]: value }) => total + value, 0)
  expect(sum('tables')).toBeGreaterThan(0)
  expect(sum('sizeBytes')).toBeGreaterThan(20 * 1024 * 1024)
  expect(sum('writtenBytes')).toBeGreaterThan(20 * 1024 * 1024)
})

it('parses each column, and skips the headings', () => {
  const heading = 'Level  Files Size(MB) Time(sec) Read(MB) Write(MB)\n------------------------\n'
  expect(parseLevelStatistics(`  Compactions\n${heading}  2       19       37         4       40        39\n`)).toEqual(
    [
      {
        level: 2,
        tables: 19,
        sizeBytes: 37 * 2 ** 20,
        seconds: 4,
        readBytes: 40 * 2 ** 20,
        writtenBytes: 39 * 2 ** 20,
      },
    ],
  )
})
