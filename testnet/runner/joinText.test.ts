import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { loadJwtSecret } from '../../src/lib/jwt.ts'
import { devAccounts, roles } from '../accounts.ts'
import { l1Addresses } from '../l1/contracts.ts'
import type { Endpoints } from './events.ts'
import { joinText } from './joinText.ts'
import { testnetLayout } from './layout.ts'
import { assignPorts } from './ports.ts'

const layout = testnetLayout('/data/my net')
const ports = assignPorts(9500, 1)
const endpoints: Endpoints = {
  dashboard: 'http://127.0.0.1:9510/dashboard',
  dir: layout.dir,
  l1: {
    rpc: 'http://127.0.0.1:9500',
    beacon: 'http://127.0.0.1:9504',
    chainId: 900,
    blockTime: 2,
    contracts: l1Addresses(roles.owner.address),
  },
  l2: { chainId: 901, blockTime: 1, genesisTime: 1_700_000_000, forks: { genesis: 'karst', later: [] } },
  nodes: [
    {
      name: 'sequencer',
      rollupRpc: 'http://127.0.0.1:9510',
      ethRpc: 'http://127.0.0.1:9511',
      ethWs: 'ws://127.0.0.1:9511',
      engineRpc: 'http://127.0.0.1:9512',
      metrics: 'http://127.0.0.1:9513/metrics',
      gethMetrics: 'http://127.0.0.1:9515/metrics',
      p2p: '/ip4/127.0.0.1/tcp/9514/p2p/16Uiu2HAm',
      peerId: '16Uiu2HAm',
      jwt: '/data/my net/sequencer/jwt.txt',
    },
  ],
  batcher: { adminRpc: '', metrics: '', address: roles.batcher.address },
  accounts: [...devAccounts],
  addressesFile: layout.addresses,
  joinUrl: 'http://127.0.0.1:9505',
  joinDir: layout.joinDir,
}

describe('joinText', () => {
  const text = joinText(endpoints, layout, '127.0.0.1', ports.spare)

  it('names the sequencer, L1, and ports that the testnet does not use', () => {
    expect(text).toContain('--p2p.static=/ip4/127.0.0.1/tcp/9514/p2p/16Uiu2HAm')
    expect(text).toContain('--l1=http://127.0.0.1:9500')
    expect(text).toContain('--l1.beacon=http://127.0.0.1:9504')
    expect(text).toContain('--rollup.l1-chain-config=l1.json')
    expect(text).toContain('--rollup.sequencerhttp=http://127.0.0.1:9511')
    const listening = [...text.matchAll(/--\S*(?:port|tcp)=(\d+)/g)].map((match) => Number(match[1]))
    // HTTP and WebSocket share a port.
    expect([...new Set(listening)].sort()).toEqual([9520, 9521, 9522, 9523, 9524, 9525])
  })

  it("names Lagoon's files if the chain activates Lagoon", () => {
    expect(text).not.toContain('dependency-set')
    const later = [{ fork: 'lagoon', time: 1_700_000_060 } as const]
    const l2 = { ...endpoints.l2, forks: { ...endpoints.l2.forks, later } }
    const withLagoon = joinText({ ...endpoints, l2 }, layout, '127.0.0.1', ports.spare)
    expect(withLagoon).toContain('--interop.dependency-set=dependency-set.json')
    expect(withLagoon).toContain('--rollup.upgrade-bundle=upgrade-bundle.json')
  })

  it('creates the secret readable only by its owner', () => {
    const directory = mkdtempSync(join(tmpdir(), 'devium-join-'))
    onTestFinished(() => rmSync(directory, { recursive: true }))
    const commands = /^ {4}mkdir -p node2\n.*$/m.exec(text)?.[0] ?? ''
    execFileSync('bash', ['-c', `umask 022\n${commands}`], {
      cwd: directory,
      env: { PATH: `${dirname(process.execPath)}:${process.env.PATH}` },
    })
    const jwt = join(directory, 'node2', 'jwt.txt')
    expect(loadJwtSecret(jwt, { create: false })).toHaveLength(32)
    expect(statSync(jwt).mode & 0o777).toBe(0o600)
  })

  it('quotes paths with spaces', () => {
    expect(text).toContain("cd '/data/my net/join'")
  })

  it('forwards the ports over ssh unless the testnet listens on all addresses', () => {
    expect(text).toContain(
      '-L 9500:127.0.0.1:9500 -L 9504:127.0.0.1:9504 -L 9511:127.0.0.1:9511 -L 9514:127.0.0.1:9514',
    )
    const open = joinText(endpoints, layout, '0.0.0.0', ports.spare)
    expect(open).not.toContain('ssh -N')
    const lan = joinText(endpoints, layout, '192.168.1.5', ports.spare)
    expect(lan).not.toContain('ssh -N')
    expect(open).toContain('in place of 127.0.0.1 in --l1, --l1.beacon, --p2p.static and --rollup.sequencerhttp')
  })
})
