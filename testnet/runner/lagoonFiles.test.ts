import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { readDependencySet } from '../../src/cli/node/lagoonFiles.ts'
import { BUNDLE_PINS, upgradeBundleToJson, upgradeDepositsOf } from '../../src/rollup/protocol/index.ts'
import { forksAtGenesis } from '../forks.ts'
import { checkUpgradeBundle, lagoonFiles, writeLagoonFiles } from './lagoonFiles.ts'

const KARST = { l2ChainId: 901, forks: forksAtGenesis('karst') }
const LAGOON = { l2ChainId: 901, forks: forksAtGenesis('lagoon') }
const TO_LAGOON = { l2ChainId: 901, forks: { ...KARST.forks, lagoon: 1_700_000_060 } }

function folder() {
  const dir = mkdtempSync(join(tmpdir(), 'devium-lagoon-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  return {
    dependencySet: join(dir, 'set.json'),
    upgradeBundle: join(dir, 'bundle.json'),
    other: join(dir, 'other.json'),
  }
}

describe('files that Lagoon needs', () => {
  it('become flags of nodes whose chain has Lagoon, with the bundle only if Lagoon comes later', () => {
    const paths = { dependencySet: 'set.json', upgradeBundle: 'bundle.json' }
    expect(lagoonFiles({ genesis: 'karst', later: [] }, paths)).toEqual({})
    expect(lagoonFiles({ genesis: 'lagoon', later: [] }, paths)).toEqual({ dependencySet: 'set.json' })
    expect(lagoonFiles({ genesis: 'karst', later: [{ fork: 'lagoon', time: 9 }] }, paths)).toEqual(paths)
  })

  it('are written beside the other files, and the set holds only this chain', async () => {
    const { other, ...paths } = folder()
    await writeLagoonFiles(paths, KARST, undefined)
    expect(existsSync(paths.dependencySet)).toBe(false)
    writeFileSync(other, 'the bundle')
    await writeLagoonFiles(paths, TO_LAGOON, other)
    expect(readDependencySet(paths.dependencySet, 901n)).toEqual({ dependencySet: [901n] })
    expect(readFileSync(paths.upgradeBundle, 'utf8')).toBe('the bundle')
    // The user passes the file that is already in place.
    await writeLagoonFiles(paths, TO_LAGOON, paths.upgradeBundle)
    expect(readFileSync(paths.upgradeBundle, 'utf8')).toBe('the bundle')
  })
})

describe('--upgrade-bundle', () => {
  it('is not needed without Lagoon, with Lagoon at genesis, or if a kept chain has the file', () => {
    const kept = folder()
    writeFileSync(kept.upgradeBundle, '')
    expect(checkUpgradeBundle(undefined, KARST, undefined)).toBeUndefined()
    expect(checkUpgradeBundle(undefined, LAGOON, undefined)).toBeUndefined()
    expect(checkUpgradeBundle(undefined, TO_LAGOON, kept)).toBeUndefined()
  })

  it('is required if Lagoon activates while the chain runs', () => {
    for (const kept of [undefined, folder()]) {
      expect(() => checkUpgradeBundle(undefined, TO_LAGOON, kept)).toThrow(/^--upgrade-bundle is required: /)
    }
  })

  it("is refused if nothing needs it, or if it is not Lagoon's", () => {
    const { other } = folder()
    for (const chain of [KARST, LAGOON]) {
      expect(() => checkUpgradeBundle(other, chain, undefined)).toThrow(
        '--upgrade-bundle requires --fork-at lagoon:<seconds>',
      )
    }
    expect(() => checkUpgradeBundle(other, TO_LAGOON, undefined)).toThrow(/^--upgrade-bundle .*other\.json: .*ENOENT/)
    const karst = { pin: BUNDLE_PINS.karst, deposits: upgradeDepositsOf('karst') }
    writeFileSync(other, JSON.stringify(upgradeBundleToJson(karst)))
    expect(() => checkUpgradeBundle(other, TO_LAGOON, undefined)).toThrow("it is that of karst, Lagoon's is needed")
  })
})
