import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { flagKey } from '../../src/cli/shared/flags.ts'
import { type TestnetOptions, testnetFlags } from '../flags.ts'
import { chooseScenarios, optionsFor } from './chooseScenarios.ts'

const defaults = Object.fromEntries(
  Object.values(testnetFlags).map((flag) => [flagKey(flag.name), flag.default]),
) as TestnetOptions
const steps = async () => {}

function file(text: string): string {
  const dir = mkdtempSync(join(tmpdir(), 'devium-scenario-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  const path = join(dir, 'own.mjs')
  writeFileSync(path, text)
  return path
}

it('finds shipped scenarios, and scenarios in files', async () => {
  const own = file('export default { about: "Mine.", testnet: { nodes: 2 }, steps: async () => {} }')
  const chosen = await chooseScenarios(['partition', own])
  expect(chosen.map(({ name, about }) => [name, about])).toEqual([
    ['partition', expect.stringMatching(/^Nodes cut off/)],
    [own, 'Mine.'],
  ])
})

it('reports the error in a name or a file', async () => {
  await expect(chooseScenarios(['partitoin'])).rejects.toThrow('unknown scenario "partitoin", did you mean partition?')
  await expect(chooseScenarios(['chaos'])).rejects.toThrow(/known are partition, .*; or a file$/)
  await expect(chooseScenarios(['./nothing.ts'])).rejects.toThrow(/--scenario \.\/nothing\.ts: Cannot find module/)
  await expect(chooseScenarios([file('export default { about: "No steps." }')])).rejects.toThrow(
    /its default export is no scenario: .*expected a function/s,
  )
})

it('chooses options that suit all scenarios', () => {
  const scenarios = [
    { name: 'a', about: '', testnet: { nodes: 4, fork: 'jovian' }, steps },
    { name: 'b', about: '', testnet: { nodes: 5, forkAt: 'karst:20' }, steps },
  ]
  const { options, given } = optionsFor(scenarios, { options: defaults, given: new Set(['block-time']) })
  expect(options).toMatchObject({ nodes: 5, fork: 'jovian', forkAt: [{ fork: 'karst', seconds: 20 }], reset: true })
  expect(options.dir).toMatch(/\/devnet-scenario$/)
  expect([...given]).toEqual(['block-time', 'dir', 'reset', 'nodes', 'fork', 'fork-at'])
  // Flags of the user stay, and his directory is not reset.
  const own = optionsFor(scenarios, { options: { ...defaults, nodes: 7 }, given: new Set(['nodes', 'dir']) })
  expect(own.options).toMatchObject({ nodes: 7, dir: 'devnet', reset: false })
})

it('refuses scenarios that need different testnets', () => {
  const needs = (name: string, testnet: object) => ({ name, about: '', testnet, steps })
  const choose = (...scenarios: ReturnType<typeof needs>[]) =>
    optionsFor(scenarios, { options: defaults, given: new Set() })
  expect(() => choose(needs('a', { fork: 'jovian' }), needs('b', { fork: 'karst' }))).toThrow(
    '--scenario b needs --fork karst, another one jovian: run it alone',
  )
  expect(() => choose(needs('a', { speed: 2 }))).toThrow('--scenario a: there is no flag for "speed"')
  expect(() => choose(needs('a', { nodes: 0 }))).toThrow('expected a whole number from 1 to 100')
})
