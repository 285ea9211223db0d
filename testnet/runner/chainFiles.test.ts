import { linkSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { createRpcClient } from '../../src/jsonRpc/client.ts'
import { forksAtGenesis } from '../forks.ts'
import { type ChainOrigin, resumeChain } from './chainFiles.ts'
import { testnetLayout } from './layout.ts'

const CHAIN = {
  ...{ l1ChainId: 900, l2ChainId: 901, blockTime: 1, l1BlockTime: 2, genesisTime: 1_700_000_000 },
  forks: { ...forksAtGenesis('jovian'), karst: 1_700_000_060 },
}

/** A kept chain without Karst. Its L1 does not start. */
function kept() {
  const dir = mkdtempSync(join(tmpdir(), 'devium-chain-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  const layout = testnetLayout(dir)
  mkdirSync(layout.joinDir)
  const files = [layout.genesis, layout.rollupConfig]
  for (const path of files) {
    writeFileSync(path, '{"old":1}')
    linkSync(path, `${path}.old`)
  }
  const starts: string[] = []
  const start = async (what: string) => {
    starts.push(what)
    throw new Error('no L1')
  }
  const l1 = { create: () => start('create'), deploy: () => start('deploy'), resume: () => start('resume') }
  const l1Client = createRpcClient({ url: 'http://127.0.0.1:1' })
  const origin: ChainOrigin = { l1, l1Client, emit: () => {}, reached: () => {} }
  const resume = () => resumeChain(origin, { layout, chain: CHAIN }, new AbortController().signal)
  return { layout, files, starts, resume }
}

it('replaces the files of a kept chain whole when forks are added', async () => {
  const { layout, files, resume } = kept()
  const { genesisWritten, complete, finish } = resume()
  await Promise.all([genesisWritten, expect(complete).rejects.toThrow('no L1')])
  await finish?.()
  const [genesis, rollupConfig] = [layout.genesis, layout.rollupConfig].map((path) => readFileSync(path, 'utf8'))
  expect(JSON.parse(genesis ?? '')).toMatchObject({ old: 1, config: { karstTime: 1_700_000_060 } })
  expect(JSON.parse(rollupConfig ?? '')).toMatchObject({ old: 1, karst_time: 1_700_000_060 })
  for (const path of files) expect(readFileSync(`${path}.old`, 'utf8')).toBe('{"old":1}')
})

it('names a damaged file of a kept chain, and starts no L1', () => {
  for (const which of [0, 1]) {
    const { files, starts, resume } = kept()
    const path = files[which] ?? ''
    writeFileSync(path, '{"old":')
    expect(resume).toThrow(`${path} is damaged`)
    expect(starts).toEqual([])
  }
})
