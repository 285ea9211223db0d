import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { readL1BlobSchedule } from '../../../src/cli/node/l1ChainConfig.ts'
import { devAccounts, roles } from '../../accounts.ts'
import { gethArguments, gethInitArguments } from './arguments.ts'
import { gethChainConfig, gethGenesis } from './genesis.ts'

const chain = { l1ChainId: 900, l1BlockTime: 2, genesisTime: 1_700_000_000 }
const forked = { ...chain, l1: { client: 'geth' as const, amsterdamTime: 1_700_000_060 } }

it('has all forks to Osaka from the genesis block on, and Amsterdam when it is asked for', () => {
  const config = gethChainConfig(forked)
  expect(config).toMatchObject({
    ...{ chainId: 900, londonBlock: 0, terminalTotalDifficulty: 0, osakaTime: 0, bpo2Time: 0 },
    amsterdamTime: 1_700_000_060,
  })
  expect(gethChainConfig(chain)).not.toHaveProperty('amsterdamTime')
  expect(gethChainConfig({ ...chain, l1: { client: 'geth' } })).not.toHaveProperty('amsterdamTime')
})

it('gives rollup nodes the blob fee parameters of the last entry', () => {
  const directory = mkdtempSync(join(tmpdir(), 'devium-l1-config-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const path = join(directory, 'l1.json')
  writeFileSync(path, JSON.stringify(gethChainConfig(forked)))
  expect(readL1BlobSchedule(path, 900n).at(-1)).toEqual({ time: 0, updateFraction: 11_684_671n })
})

it("funds the accounts, has the contracts, and starts one slot before the rollup's genesis time", () => {
  const code = '0x5b'
  const address = `0x${'c0'.repeat(20)}` as const
  const genesis = gethGenesis(chain, [[address, code]])
  expect(genesis).toMatchObject({ timestamp: `0x${(1_699_999_998).toString(16)}`, difficulty: '0x0' })
  const balance = '0x21e19e0c9bab2400000'
  const funded = [...devAccounts, ...Object.values(roles)].map((account) => [account.address, { balance }])
  const contracts = { [address]: { balance: '0x0', nonce: '0x1', code } }
  expect(genesis.alloc).toEqual({ ...Object.fromEntries(funded), ...contracts })
})

it('starts geth for this machine only, with the database flags of the init command', () => {
  const files = { dataDir: '/net/l1/geth', genesis: '/net/l1/genesis.json', jwt: '/net/l1/jwt.txt' }
  const args = gethArguments({ files, host: '0.0.0.0', ports: { l1: 9500, l1Engine: 9503 }, chain })
  expect(args).toEqual(
    expect.arrayContaining([
      ...[
        '--networkid=900',
        '--http.addr=0.0.0.0',
        '--http.port=9500',
        '--ws.port=9500',
        '--nodiscover',
        '--maxpeers=0',
      ],
      ...['--authrpc.addr=127.0.0.1', '--authrpc.port=9503', '--authrpc.jwtsecret=/net/l1/jwt.txt'],
    ]),
  )
  const init = gethInitArguments(files)
  expect(init.slice(-2)).toEqual(['init', '/net/l1/genesis.json'])
  expect(args).toEqual(expect.arrayContaining(init.slice(0, -2)))
})
