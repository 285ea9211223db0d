import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { forksAtGenesis } from '../forks.ts'
import { testnetLayout } from './layout.ts'
import { writeManifest } from './manifest.ts'
import { Snapshots } from './snapshots.ts'

const CHAIN = {
  ...{ l1ChainId: 900, l2ChainId: 901, blockTime: 1, l1BlockTime: 2, genesisTime: 1_700_000_000 },
  forks: forksAtGenesis('karst'),
}

function testnet() {
  const dir = mkdtempSync(join(tmpdir(), 'devium-snapshots-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  const layout = testnetLayout(dir)
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(dir, path)), { recursive: true })
    writeFileSync(join(dir, path), text)
  }
  writeManifest(layout, { version: 1, chain: CHAIN, complete: true })
  for (const path of ['l1/state.json', 'l1/cache/one', 'join/genesis.json', 'sequencer/geth/data', 'logs/l1.log']) {
    write(path, 'before')
  }
  const read = (path: string) => (existsSync(join(dir, path)) ? readFileSync(join(dir, path), 'utf8') : undefined)
  return { layout, write, read, snapshots: new Snapshots({ layout, chain: CHAIN }) }
}

it("copies the chain's data and restores it: later data is removed, and logs stay", async () => {
  const { snapshots, write, read } = testnet()
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
  const { snapshots, layout } = testnet()
  expect(() => snapshots.checkNew('../base')).toThrow(/expected a name of letters/)
  expect(() => snapshots.ageOf('base')).toThrow('no snapshot "base": there is none: take one by snapshot NAME')
  await snapshots.take('base')
  expect(() => snapshots.checkNew('base')).toThrow(/there is a base already: delete .*base, or choose another/)
  expect(() => snapshots.ageOf('bass')).toThrow('no snapshot "bass": expected one of base')
  const other = new Snapshots({ layout, chain: { ...CHAIN, genesisTime: 1_700_000_001 } })
  expect(() => other.ageOf('base')).toThrow(/base is of another chain/)
})
