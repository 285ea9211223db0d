import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, it, onTestFinished, vi } from 'vitest'
import { buildOpAlloy } from './buildOpAlloy.ts'

afterEach(() => {
  vi.unstubAllEnvs()
})

/** Builds in a folder of its own, with a `cargo` that says this and fails; undefined: there is none. */
async function buildWith(output: string | undefined) {
  const folder = await mkdtemp(join(tmpdir(), 'devium-fake-cargo-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  if (output !== undefined) {
    await writeFile(join(folder, 'cargo'), `#!/bin/sh\n/bin/cat >&2 <<'END'\n${output}\nEND\nexit 101\n`)
    await chmod(join(folder, 'cargo'), 0o755)
  }
  vi.stubEnv('PATH', folder)
  vi.stubEnv('TMPDIR', folder)
  return buildOpAlloy()
}

it.each<[output: string | undefined, reason: string]>([
  [undefined, 'cargo is not installed'],
  [
    'error: failed to download from `https://static.crates.io/crates/serde/1.0.0/download`\n\nCaused by:\n  [6] Could not resolve hostname',
    'crates cannot be fetched: error: failed to download from `https://static.crates.io/crates/serde/1.0.0/download`',
  ],
  [
    'error: rustc 1.85.0 is not supported by the following packages:\n  alloy-consensus@2.5.0 requires rustc 1.94',
    'cargo is too old: error: rustc 1.85.0 is not supported by the following packages:',
  ],
])('the comparison with op-alloy is skipped with the message of cargo: %s', async (output, reason) => {
  expect(await buildWith(output)).toEqual({ skip: reason })
})

it('a compile error of the program fails the tests instead of skipping them', async () => {
  await expect(buildWith('error[E0425]: cannot find value')).rejects.toThrow('cannot find value')
})
