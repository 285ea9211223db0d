import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Command } from 'commander'
import { describe, expect, it, onTestFinished } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { createBatchSubmitterCommand } from '../src/cli/batchSubmitter/batchSubmitterCommand.ts'
import { createGethCommand } from '../src/cli/geth/gethCommand.ts'
import { createRollupNodeCommand } from '../src/cli/node/rollupNodeCommand.ts'
import { exportTestnet } from '../testnet/export/exportTestnet.ts'
import { toYaml } from '../testnet/export/yaml.ts'
import { forksAtGenesis } from '../testnet/forks.ts'
import { nodeLayout, testnetLayout } from '../testnet/runner/layout.ts'
import { problemOf } from './support/commandLines.ts'

const PROGRAMS: Readonly<Record<string, () => Command>> = {
  'devium--batcher': createRollupNodeCommand,
  'devium-batch-submitter': createBatchSubmitterCommand,
  'devium-geth': createGethCommand,
}
const CHAIN = {
  ...{ l1ChainId: 900, l2ChainId: 901, blockTime: 1, l1BlockTime: 2, genesisTime: 1_700_000_000 },
  forks: forksAtGenesis('karst'),
}
/** More than a ConfigMap holds, and no two parts alike. */
const L1_STATE = Uint8Array.from({ length: 1_500_000 }, (_, index) => index % 251)

interface Service {
  image: string
  command: string[]
  environment?: Record<string, string>
  network_mode?: string
}
interface Manifest {
  kind: string
  metadata: { name: string }
  spec: { template?: { spec: { containers: unknown[]; volumes: { configMap?: { name: string } }[] } } }
}

function exported() {
  const dir = mkdtempSync(join(tmpdir(), 'devium-export-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  const layout = testnetLayout(dir)
  mkdirSync(layout.joinDir)
  for (const path of [layout.genesis, layout.rollupConfig, layout.l1Config]) writeFileSync(path, '{}')
  const nodes = ['sequencer', 'verifier1', 'verifier2'].map((name) => {
    const node = nodeLayout(dir, name)
    mkdirSync(dirname(node.p2pKey))
    writeFileSync(node.p2pKey, `${'0'.repeat(63)}${name.length}\n`)
    return { layout: node, peerId: `16Uiu2${name}` }
  })
  const target = exportTestnet({ layout, chain: CHAIN, da: 'calldata' }, nodes, L1_STATE)
  return {
    read: (path: string) => readFileSync(join(target, path), 'utf8'),
    bytes: (path: string) => readFileSync(join(target, path)),
  }
}

describe('an exported network', () => {
  it('has a compose file with valid flags, and each node as two services at one address', () => {
    const { read } = exported()
    const { services } = parse(read('compose.yaml')) as { services: Record<string, Service> }
    expect(Object.keys(services)).toEqual([
      'l1',
      ...['sequencer', 'verifier1', 'verifier2'].flatMap((name) => [`${name}-genesis`, name, `${name}-node`]),
      'batcher',
    ])
    const problems = Object.values(services).flatMap(({ command: [name = '', ...args] }) => {
      const program = PROGRAMS[name]?.()
      return program === undefined ? [name] : (problemOf(program, args) ?? [])
    })
    expect(problems).toEqual(['/bin/sh'])
    expect(services['verifier2-node']?.network_mode).toBe('service:verifier2')
    expect(services['verifier2-node']?.command).toContain(
      '--p2p.static=/dns4/sequencer/tcp/9222/p2p/16Uiu2sequencer,/dns4/verifier1/tcp/9222/p2p/16Uiu2verifier1',
    )
    const { environment } = services['sequencer-node'] ?? {}
    expect(environment).toMatchObject({ DEVIUM_NODE_P2P_PRIV_RAW: `${'0'.repeat(63)}9` })
    // Only the sequencer signs.
    const signers = Object.values(services).filter(
      (each) => 'DEVIUM_NODE_P2P_SEQUENCER_KEY' in (each.environment ?? {}),
    )
    expect(signers).toHaveLength(1)
  })

  it("has manifests that find all their files, and L1's state in parts that fit in ConfigMaps", () => {
    const { read, bytes } = exported()
    const all = parseAllDocuments(read('kubernetes/pods.yaml')).map((document): Manifest => document.toJS())
    expect(all.filter(({ kind }) => kind === 'Service').map(({ metadata }) => metadata.name)).toEqual([
      ...['l1', 'sequencer', 'verifier1', 'verifier2', 'batcher'],
    ])
    const { configMapGenerator } = parse(read('kubernetes/kustomization.yaml')) as {
      configMapGenerator: { name: string; files: string[] }[]
    }
    const named = all.flatMap(
      ({ spec }) => spec.template?.spec.volumes.flatMap(({ configMap }) => configMap?.name ?? []) ?? [],
    )
    const made = configMapGenerator.map(({ name }) => name)
    expect(named.filter((name) => !made.includes(name))).toEqual([])
    const files = configMapGenerator.flatMap(({ files: [...names] }) => names)
    for (const name of files) expect(bytes(`kubernetes/${name}`).length).toBeLessThan(750_000)
    const parts = files.filter((name) => name.startsWith('l1-state'))
    expect(parts).toEqual(['l1-state-000', 'l1-state-001', 'l1-state-002'])
    for (const folder of ['kubernetes', 'l1-state']) {
      expect(Buffer.concat(parts.map((name) => bytes(`${folder}/${name}`))).equals(L1_STATE)).toBe(true)
    }
  })

  it('is written as YAML that parses to the same values', () => {
    const value = { a: 'x: y\n$z', list: ['-', { b: 1, c: [] }, ['deep']], none: null, 'odd key': {}, gone: undefined }
    expect(parse(toYaml(value))).toEqual({
      a: 'x: y\n$z',
      list: ['-', { b: 1, c: [] }, ['deep']],
      none: null,
      'odd key': {},
    })
  })
})
