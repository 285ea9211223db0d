import { linkSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { createRpcClient } from '../../src/jsonRpc/client.ts'
import { GethL1 } from './gethL1.ts'
import { testnetLayout } from './layout.ts'
import { assignPorts } from './ports.ts'
import { RunningPrograms } from './runningPrograms.ts'
import type { TestnetSetup } from './setup.ts'

it('replaces its genesis file whole when it resumes', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'devium-geth-l1-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  const layout = testnetLayout(dir)
  const geth = '/no/such/geth'
  const setup: TestnetSetup = {
    ...{ layout, ports: assignPorts(9500, 1), host: '127.0.0.1', l1Client: { geth }, clients: [], da: 'calldata' },
    chain: {
      l1ChainId: 900,
      l2ChainId: 901,
      blockTime: 1,
      l1BlockTime: 2,
      genesisTime: 1_700_000_000,
      forks: {},
      l1: { client: 'geth' },
    },
    ...{ resumed: true, token: undefined },
  }
  mkdirSync(dirname(layout.l1Genesis))
  writeFileSync(layout.l1Genesis, '{"old":1}')
  linkSync(layout.l1Genesis, join(dir, 'old'))
  const programs = new RunningPrograms({ emit: () => {}, fail: () => {} })
  const l1 = new GethL1({ programs, client: createRpcClient({ url: 'http://127.0.0.1:1' }) }, setup, geth)
  // The program is missing. At that point the file has been written.
  await expect(l1.resume(new AbortController().signal)).rejects.toThrow('cannot run /no/such/geth')
  expect(JSON.parse(readFileSync(layout.l1Genesis, 'utf8'))).toMatchObject({ old: 1, config: { chainId: 900 } })
  expect(readFileSync(join(dir, 'old'), 'utf8')).toBe('{"old":1}')
  writeFileSync(layout.l1Genesis, '')
  await expect(l1.resume(new AbortController().signal)).rejects.toThrow(`${layout.l1Genesis} is damaged`)
})
