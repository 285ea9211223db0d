import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { forksAtGenesis } from '../forks.ts'
import { testnetLayout } from '../runner/layout.ts'
import { exportTestnet } from './exportTestnet.ts'

const CHAIN = {
  ...{ l1ChainId: 900, l2ChainId: 901, blockTime: 1, l1BlockTime: 2, genesisTime: 1_700_000_000 },
  forks: forksAtGenesis('karst'),
}

it('exports files that the user of a container can read', () => {
  const dir = mkdtempSync(join(tmpdir(), 'devium-export-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  const layout = testnetLayout(dir)
  mkdirSync(layout.joinDir)
  for (const path of [layout.genesis, layout.rollupConfig]) writeFileSync(path, '{}', { mode: 0o600 })
  const chain = join(exportTestnet({ layout, chain: CHAIN, da: 'calldata' }, [], Uint8Array.of(1)), 'chain')
  const modes = ['genesis.json', 'rollup.json', 'jwt.txt'].map((name) => statSync(join(chain, name)).mode)
  expect(new Set(modes).size).toBe(1)
})
