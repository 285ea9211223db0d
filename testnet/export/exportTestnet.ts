import { randomBytes } from 'node:crypto'
import { copyFileSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { makeDirectory } from '../../src/lib/makeDirectory.ts'
import type { NodeDescription, TestnetSetup } from '../runner/setup.ts'
import { composeFile } from './compose.ts'
import { kustomization, manifests } from './kubernetes.ts'
import { exportedPods } from './pods.ts'

/** Size of one part. A ConfigMap holds 1 MiB in base64. */
const PART_BYTES = 700_000

/**
 * Writes the network as files for containers: the chain, the L1 state (Anvil's packed JSON), a compose file and Kubernetes
 * manifests. Nodes there start at the genesis block and derive what L1 holds. Returns the directory.
 */
export function exportTestnet(
  { layout, chain, da }: Pick<TestnetSetup, 'layout' | 'chain' | 'da'>,
  nodes: readonly Pick<NodeDescription, 'layout' | 'peerId'>[],
  packedL1State: Uint8Array,
): string {
  const target = join(layout.dir, 'export')
  const dir = `${target}.partial`
  rmSync(dir, { recursive: true, force: true })
  const [chainDir, stateDir, kubernetesDir] = [join(dir, 'chain'), join(dir, 'l1-state'), join(dir, 'kubernetes')]
  for (const each of [chainDir, stateDir, kubernetesDir]) makeDirectory(each)

  const { genesis, rollupConfig, l1Config, dependencySet, upgradeBundle } = layout
  const files = [rollupConfig, l1Config, dependencySet, upgradeBundle].filter((path) => existsSync(path))
  // Not copied with their mode: the user of a container may be another than that of this testnet.
  for (const path of [genesis, ...files]) writeFileSync(join(chainDir, basename(path)), readFileSync(path))
  // The secret of the Engine API, which no container publishes.
  writeFileSync(join(chainDir, 'jwt.txt'), randomBytes(32).toString('hex'))
  const parts = Array.from({ length: Math.ceil(packedL1State.length / PART_BYTES) }, (_, index) => partName(index))
  for (const [index, part] of parts.entries()) {
    const bytes = packedL1State.subarray(index * PART_BYTES, (index + 1) * PART_BYTES)
    for (const each of [stateDir, kubernetesDir]) writeFileSync(join(each, part), bytes)
  }

  const exported = nodes.map(({ layout: { name, p2pKey }, peerId }) => {
    return { name, peerId, p2pKey: readFileSync(p2pKey, 'utf8').trim() }
  })
  const pods = exportedPods(chain, exported, da)
  writeFileSync(join(dir, 'compose.yaml'), composeFile(pods))
  const small = [...files.map((path) => basename(path)), 'jwt.txt']
  for (const name of small) copyFileSync(join(chainDir, name), join(kubernetesDir, name))
  writeFileSync(join(kubernetesDir, 'genesis.json.gz'), gzipSync(readFileSync(genesis)))
  writeFileSync(join(kubernetesDir, 'kustomization.yaml'), kustomization(small, parts))
  writeFileSync(join(kubernetesDir, 'pods.yaml'), manifests(pods, parts))
  rmSync(target, { recursive: true, force: true })
  renameSync(dir, target)
  return target
}

/** Part names sort alphabetically, so that `cat *` joins them in order. */
function partName(index: number): string {
  return `l1-state-${String(index).padStart(3, '0')}`
}
