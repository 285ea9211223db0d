import { existsSync, linkSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { forksAtGenesis } from '../forks.ts'
import { type TestnetLayout, testnetLayout } from './layout.ts'
import {
  checkSameChain,
  checkSameFork,
  clearDirectory,
  lockDirectory,
  readManifest,
  writeManifest,
} from './manifest.ts'

const chain = {
  l1ChainId: 900,
  l2ChainId: 901,
  blockTime: 1,
  l1BlockTime: 2,
  genesisTime: 1_700_000_000,
  forks: forksAtGenesis('jovian'),
}

let layout: TestnetLayout
beforeEach(() => {
  layout = testnetLayout(mkdtempSync(join(tmpdir(), 'devium-manifest-')))
})
afterEach(() => rmSync(layout.dir, { recursive: true, force: true }))

describe('manifest', () => {
  it('reads back what it wrote', async () => {
    expect(readManifest(layout)).toBeUndefined()
    await writeManifest(layout, { version: 1, chain, complete: true })
    expect(readManifest(layout)).toEqual({ version: 1, chain, complete: true })
  })

  it('is replaced whole, so that a kill leaves the old one', async () => {
    writeFileSync(layout.manifest, 'old')
    const old = join(layout.dir, 'old')
    linkSync(layout.manifest, old)
    await writeManifest(layout, { version: 1, chain, complete: true })
    expect(readFileSync(old, 'utf8')).toBe('old')
  })

  it('of another kind is refused', () => {
    for (const other of ['{"version":9}', '{"version":1,"chain":{"forks":{}},"complete":true}']) {
      writeFileSync(layout.manifest, other)
      expect(() => readManifest(layout), other).toThrow('is not a testnet this version knows')
    }
    writeFileSync(layout.manifest, '{"version":')
    expect(() => readManifest(layout)).toThrow(`${layout.manifest} is damaged`)
    // The same as --reset.
    clearDirectory(layout)
    expect(readManifest(layout)).toBeUndefined()
  })

  it('refuses flags that contradict the chain, when they were given', () => {
    const wanted = { ...chain, blockTime: 2 }
    expect(() => checkSameChain(chain, wanted, new Set())).not.toThrow()
    expect(() => checkSameChain(chain, wanted, new Set(['block-time']))).toThrow('--block-time 2: the chain kept')
  })
})

describe('forks of a kept chain', () => {
  it('cannot start over', () => {
    const later = { ...chain, forks: { ...chain.forks, karst: 1_700_000_060 } }
    expect(() => checkSameFork(later, 'jovian')).not.toThrow()
    expect(() => checkSameFork(later, 'karst')).toThrow(
      '--fork karst: the chain kept in this directory began with jovian',
    )
  })

  it('default to those up to Holocene in an old manifest', () => {
    const { forks: _, ...old } = chain
    writeFileSync(layout.manifest, JSON.stringify({ version: 1, chain: old, complete: true }))
    expect(readManifest(layout)?.chain.forks).toEqual(forksAtGenesis('holocene'))
  })
})

describe('directory', () => {
  it('is locked by one runner at a time', () => {
    const unlock = lockDirectory(layout)
    expect(() => lockDirectory(layout)).toThrow(`another testnet (process ${process.pid}) runs in`)
    expect(() => lockDirectory(layout)).toThrow(`delete ${layout.lock}`)
    unlock()
    expect(existsSync(layout.lock)).toBe(false)
    lockDirectory(layout)()
  })

  it('is unlocked after its runner was killed', () => {
    // Larger than any process id.
    writeFileSync(layout.lock, '99999999')
    const unlock = lockDirectory(layout)
    expect(readFileSync(layout.lock, 'utf8').split('\n')[0]).toBe(String(process.pid))
    unlock()
  })

  it('is unlocked if another process has the number of its killed runner', () => {
    // Locks of earlier versions do not hold the start of the process.
    writeFileSync(layout.lock, String(process.pid))
    expect(() => lockDirectory(layout)).toThrow('another testnet')
    writeFileSync(layout.lock, `${process.pid}\nbefore the reboot`)
    lockDirectory(layout)()
  })

  it('is refused if it holds other files, and a reset keeps them', async () => {
    writeFileSync(join(layout.dir, 'thesis.txt'), 'precious')
    expect(() => clearDirectory(layout)).toThrow('is not empty and holds no testnet')
    mkdirSync(join(layout.dir, 'verifier12'))
    await writeManifest(layout, { version: 1, chain, complete: true })
    clearDirectory(layout)
    expect(existsSync(join(layout.dir, 'verifier12'))).toBe(false)
    expect(readManifest(layout)).toBeUndefined()
    expect(readFileSync(join(layout.dir, 'thesis.txt'), 'utf8')).toBe('precious')
  })
})
