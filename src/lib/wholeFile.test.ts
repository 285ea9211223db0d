import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { writeWhole } from './wholeFile.ts'

it('syncs a file before it replaces the old one, and then its directory', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'devium-whole-file-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'file')
  await writeWhole(path, 'old')
  const handle = await open(path)
  const prototype: FileHandle = Object.getPrototypeOf(handle)
  await handle.close()
  const synced: unknown[] = []
  const sync = vi.spyOn(prototype, 'sync').mockImplementation(async function (this: FileHandle) {
    synced.push({ isDirectory: (await this.stat()).isDirectory(), text: readFileSync(path, 'utf8') })
  })
  onTestFinished(() => sync.mockRestore())
  await writeWhole(path, 'new')
  expect(synced).toEqual([
    { isDirectory: false, text: 'old' },
    { isDirectory: true, text: 'new' },
  ])
})
