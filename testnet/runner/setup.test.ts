import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { testnetLayout } from './layout.ts'
import { assignPorts } from './ports.ts'
import { rollupNode } from './programs.ts'
import { describeEndpoints, describeNodes, openToken, type TestnetSetup } from './setup.ts'

const LINKS = { entrancePort: 41_002, doorPort: () => 41_000, pairPort: () => 41_001 }

function setupOn(host: string): TestnetSetup {
  const dir = mkdtempSync(join(tmpdir(), 'devium-setup-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  const layout = testnetLayout(dir)
  const chain = { l1ChainId: 900, l2ChainId: 901, blockTime: 1, l1BlockTime: 2, genesisTime: 1, forks: {} }
  const token = openToken(layout, host)
  return {
    layout,
    ports: assignPorts(9500, 2),
    host,
    chain,
    l1Client: 'anvil',
    clients: [],
    da: 'calldata',
    resumed: false,
    token,
  }
}

function flagsOfFirstNode(setup: TestnetSetup): string[] {
  const [first] = describeNodes(setup, LINKS)
  if (first === undefined) throw new Error('no node')
  return rollupNode(first.call).args
}

it('a testnet that other machines reach requires a token, and its page reaches nodes by its own host name', () => {
  const setup = setupOn('0.0.0.0')
  const { rpcToken } = setup.layout
  expect(flagsOfFirstNode(setup)).toEqual(
    expect.arrayContaining([
      '--dashboard.nodes=verifier1=http://0.0.0.0:9520',
      '--dashboard.batcher=http://127.0.0.1:9501',
      `--dashboard.batcher-token-file=${rpcToken}`,
      `--rpc.token-file=${rpcToken}`,
    ]),
  )
  expect(readFileSync(rpcToken, 'utf8')).toBe(setup.token?.value)
  expect(statSync(rpcToken).mode & 0o777).toBe(0o600)
})

it('nodes read blobs from the beacon API of the runner', () => {
  const setup = setupOn('127.0.0.1')
  const flags = flagsOfFirstNode(setup)
  expect(flags.filter((flag) => flag.startsWith('--l1.beacon'))).toEqual(['--l1.beacon=http://127.0.0.1:9504'])
  const endpoints = describeEndpoints(setup, describeNodes(setup, LINKS))
  expect(endpoints.l1).toMatchObject({ rpc: 'http://127.0.0.1:9500', beacon: 'http://127.0.0.1:9504' })
})

it('a testnet that only this machine reaches requires no token', () => {
  const flags = flagsOfFirstNode(setupOn('127.0.0.1'))
  expect(flags).toContain('--dashboard.nodes=verifier1=http://127.0.0.1:9520')
  expect(flags.filter((flag) => flag.includes('token'))).toEqual([])
})

it('nodes dial each other by the proxy of the pair, and announce their door', () => {
  const setup = setupOn('127.0.0.1')
  const links = {
    entrancePort: 41_002,
    doorPort: (name: string) => name.length,
    pairPort: (one: string, other: string) => `${one} ${other}`.length,
  }
  const [first, second] = describeNodes(setup, links)
  if (first === undefined || second === undefined) throw new Error('two nodes')
  const flags = rollupNode(second.call).args
  expect(flags).toEqual(
    expect.arrayContaining([
      `--p2p.static=/ip4/127.0.0.1/tcp/19/p2p/${first.peerId}`,
      '--p2p.advertise.ip=127.0.0.1',
      '--p2p.advertise.tcp=9',
      '--p2p.listen.tcp=9524',
    ]),
  )
  // A node that joins by hand dials the node directly, not its door.
  expect(first.p2p).toBe(`/ip4/127.0.0.1/tcp/9514/p2p/${first.peerId}`)
})

it('nodes know each other by name', () => {
  const nodes = describeNodes(setupOn('127.0.0.1'), LINKS)
  const names = nodes.map(({ layout, peerId }) => `${layout.name}=${peerId}`).join(',')
  for (const { call } of nodes) expect(rollupNode(call).args).toContain(`--p2p.names=${names}`)
})
