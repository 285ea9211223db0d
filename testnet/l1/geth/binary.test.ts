import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { checkGeth, readSystemContracts, whyNotUsable } from './binary.ts'

const versionText = (version: string) => `Geth\nVersion: ${version}\nArchitecture: amd64\n`

function scriptInTest(text: string, mode = 0o755): string {
  const directory = mkdtempSync(join(tmpdir(), 'devium-geth-binary-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const path = join(directory, 'geth')
  writeFileSync(path, `#!/bin/sh\n${text}\n`, { mode })
  return path
}

it.each([
  ['1.17.10-stable', undefined],
  ['1.17.11-unstable-02b73d4e', undefined],
  ['1.18.0', undefined],
  ['2.0.0', undefined],
  ['1.17.9-stable', 'version 1.17.9 is too old, the oldest that will do is 1.17.10'],
  ['1.16.20', 'version 1.16.20 is too old, the oldest that will do is 1.17.10'],
  ['1.101702.0-stable', 'the program is op-geth, which cannot be an L1'],
  ['unknown', 'the program is not go-ethereum'],
])('judges version %s', (version, why) => {
  expect(whyNotUsable(versionText(version))).toBe(why)
})

it('refuses what is not a usable binary, with its path', async () => {
  const missing = '/nowhere/geth'
  await expect(checkGeth(missing)).rejects.toThrow('--l1-client geth=/nowhere/geth: there is no such file')
  await expect(checkGeth(tmpdir())).rejects.toThrow('that is not a file')
  await expect(checkGeth(scriptInTest('exit 0', 0o644))).rejects.toThrow('the file is not executable')
  await expect(checkGeth(scriptInTest('exit 3'))).rejects.toThrow('the program is not go-ethereum')
  await expect(checkGeth(scriptInTest('echo devium-geth 1.17.10'))).rejects.toThrow('the program is not go-ethereum')
  await expect(checkGeth(scriptInTest(`printf '${versionText('1.17.10')}'`))).resolves.toBeUndefined()
})

it('reads the contracts that the protocol calls, and no funded accounts', async () => {
  const code = '0x3373ff'
  const alloc = { ['01'.padStart(40, '0')]: { balance: '0x1' }, ['02'.padStart(40, '0')]: { balance: '0x0', code } }
  const path = scriptInTest(`test "$*" = '--dev dumpgenesis' && echo '${JSON.stringify({ config: {}, alloc })}'`)
  expect([...(await readSystemContracts(path))]).toEqual([[`0x${'02'.padStart(40, '0')}`, code]])
})
