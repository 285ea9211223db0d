import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

it('says what to do in a checkout where nothing is installed', () => {
  const checkout = mkdtempSync(join(tmpdir(), 'devium-start-'))
  try {
    const script = join(checkout, 'testnet', 'start.mjs')
    cpSync(fileURLToPath(new URL('start.mjs', import.meta.url)), script)
    expect(() => execFileSync(process.execPath, [script], { stdio: 'pipe' })).toThrow(/run "npm ci" first\n$/)
  } finally {
    rmSync(checkout, { recursive: true })
  }
})
