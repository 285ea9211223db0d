import { spawnSync } from 'node:child_process'
import fs, { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { forksAtGenesis } from '../forks.ts'
import { testnetLayout } from './layout.ts'
import { readManifest, writeManifest } from './manifest.ts'
import { finishRestore, Snapshots } from './snapshots.ts'

const CHAIN = {
  ...{ l1ChainId: 900, l2ChainId: 901, blockTime: 1, l1BlockTime: 2, genesisTime: 1_700_000_000 },
  forks: forksAtGenesis('karst'),
}

async function testnet() {
  const dir = mkdtempSync(join(tmpdir(), 'devium-snapshots-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  const layout = testnetLayout(dir)
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(dir, path)), { recursive: true })
    writeFileSync(join(dir, path), text)
  }
  await writeManifest(layout, { version: 1, chain: CHAIN, complete: true })
  for (const path of ['l1/state.json', 'l1/cache/one', 'join/genesis.json', 'sequencer/geth/data', 'logs/l1.log']) {
    write(path, 'before')
  }
  const read = (path: string) => (existsSync(join(dir, path)) ? readFileSync(join(dir, path), 'utf8') : undefined)
  return { layout, write, read, snapshots: new Snapshots({ layout, chain: CHAIN }) }
}

/** A testnet with the snapshot `base` and later data, and the last step of its restore. */
async function restoring() {
  const { snapshots, write, ...rest } = await testnet()
  await snapshots.take('base')
  for (const path of LATER) write(path, 'after')
  return { ...rest, snapshots, put: await snapshots.prepare('base') }
}
const LATER = ['l1/state.json', 'sequencer/geth/data', 'verifier1/geth/data']

/** Whether the action reached its rename of this number, which fails as if the runner were killed there. */
function isCutAtRename(number: number, action: () => void): boolean {
  const { renameSync } = fs
  let left = number
  fs.renameSync = (from, to) => {
    if (left-- === 0) throw new Error('cut')
    renameSync(from, to)
  }
  syncBuiltinESMExports()
  try {
    action()
  } catch {
  } finally {
    fs.renameSync = renameSync
    syncBuiltinESMExports()
  }
  return left < 0
}

it("copies the chain's data and restores it: later data is removed, and logs stay", async () => {
  const { snapshots, write, read } = await testnet()
  await snapshots.take('base')
  expect(read('snapshots/base/l1/cache/one')).toBeUndefined()
  expect(read('snapshots/base/logs/l1.log')).toBeUndefined()
  for (const path of [
    'l1/state.json',
    'l1/state.new.json',
    'sequencer/geth/data',
    'verifier1/geth/data',
    'logs/l1.log',
  ]) {
    write(path, 'after')
  }
  expect(snapshots.ageOf('base')).toBeLessThan(60)
  const put = await snapshots.prepare('base')
  expect(read('sequencer/geth/data')).toBe('after')
  put()
  expect(read('l1/state.json')).toBe('before')
  expect(read('sequencer/geth/data')).toBe('before')
  expect(read('l1/state.new.json')).toBeUndefined()
  expect(read('verifier1/geth/data')).toBeUndefined()
  expect(read('logs/l1.log')).toBe('after')
  // The snapshot is kept.
  expect(read('snapshots/base/l1/state.json')).toBe('before')
})

it('refuses invalid, used and unknown names, and snapshots of another chain', async () => {
  const { snapshots, layout } = await testnet()
  expect(() => snapshots.checkNew('../base')).toThrow(/expected a name of letters/)
  expect(() => snapshots.ageOf('base')).toThrow('no snapshot "base": there is none: take one by snapshot NAME')
  await snapshots.take('base')
  expect(() => snapshots.checkNew('base')).toThrow(/there is a base already: delete .*base, or choose another/)
  expect(() => snapshots.ageOf('bass')).toThrow('no snapshot "bass": expected one of base')
  const other = new Snapshots({ layout, chain: { ...CHAIN, genesisTime: 1_700_000_001 } })
  expect(() => other.ageOf('base')).toThrow(/base is of another chain/)
})

it('finishes a restore wherever it was interrupted', async () => {
  let number = 0
  for (; ; number++) {
    const { snapshots, layout, read, put } = await restoring()
    if (!isCutAtRename(number, put)) break
    await expect(snapshots.take('other')).rejects.toThrow('a restore was interrupted')
    finishRestore(layout)
    expect(LATER.map(read)).toEqual(['before', 'before', undefined])
    expect(readManifest(layout)).toEqual({ version: 1, chain: CHAIN, complete: true })
    expect(readdirSync(layout.snapshots)).toEqual(['base'])
  }
  // L1, the join files, two nodes and the manifest, and all but one node back.
  expect(number).toBe(9)
})

it('finishes an interrupted restore when the testnet starts', async () => {
  const { layout, read, put } = await restoring()
  expect(isCutAtRename(7, put)).toBe(true)
  expect(readManifest(layout)).toBeUndefined()
  const main = fileURLToPath(new URL('../main.ts', import.meta.url))
  // The kept chain has another id, so nothing starts.
  const args = [main, '--dir', layout.dir, '--base-port=0', '--nodes=1', '--chain-id=5']
  expect(spawnSync(process.execPath, args, { encoding: 'utf8' }).stderr).toContain('--chain-id 5: the chain kept in')
  expect(LATER.map(read)).toEqual(['before', 'before', undefined])
})
