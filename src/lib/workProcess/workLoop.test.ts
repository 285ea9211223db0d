import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, it } from 'vitest'

const PROGRAM = fileURLToPath(new URL('./testUtils/echo.ts', import.meta.url))
const directory = mkdtempSync(join(tmpdir(), 'devium-compiled-'))

afterEach(() => rmSync(directory, { recursive: true, force: true }))

it('compiled code is cached for the next process, even after a kill', async () => {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', PROGRAM], {
    env: { ...process.env, NODE_COMPILE_CACHE: directory },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  // The process is ready.
  await once(child.stdout, 'data')
  child.kill('SIGKILL')
  await once(child, 'exit')
  const kept = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  expect(kept).not.toEqual([])
})
