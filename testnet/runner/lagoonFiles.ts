import { existsSync } from 'node:fs'
import { copyFile, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { readUpgradeBundleFile } from '../../src/cli/node/lagoonFiles.ts'
import { UsageError } from '../../src/lib/errors.ts'
import type { ChainParameters } from '../chainParameters.ts'
import { type ForkPlan, forkPlan } from './events.ts'
import type { TestnetLayout } from './layout.ts'
import type { NodeFiles } from './programs.ts'

// Nodes of a chain with Lagoon need its dependency set, which holds only this chain. If the chain activates Lagoon while it runs,
// they also need the upgrade bundle of the activation block.

type Paths = Pick<TestnetLayout, 'dependencySet' | 'upgradeBundle'>

/** The Lagoon files that a node of this chain needs. */
export function lagoonFiles(
  { genesis, later }: ForkPlan,
  { dependencySet, upgradeBundle }: Paths,
): Pick<NodeFiles, 'dependencySet' | 'upgradeBundle'> {
  if (genesis === 'lagoon') return { dependencySet }
  return later.some(({ fork }) => fork === 'lagoon') ? { dependencySet, upgradeBundle } : {}
}

/**
 * The file of `--upgrade-bundle` if the chain needs one; undefined if it needs none or the kept chain has it. Throws UsageError
 * if the file is missing or is not Lagoon's bundle.
 */
export function checkUpgradeBundle(
  given: string | undefined,
  chain: Pick<ChainParameters, 'forks'>,
  kept: Paths | undefined,
): string | undefined {
  const isNeeded = lagoonFiles(forkPlan(chain), { dependencySet: '', upgradeBundle: '' }).upgradeBundle !== undefined
  if (given === undefined) {
    if (!isNeeded || (kept !== undefined && existsSync(kept.upgradeBundle))) return undefined
    throw new UsageError(
      '--upgrade-bundle is required: the activation block of Lagoon holds transactions that are published as a file (lagoon_nut_bundle.json), or `devium bundle from-block` reads them from a chain that has such a block',
    )
  }
  if (!isNeeded) throw new UsageError('--upgrade-bundle requires --fork-at lagoon:<seconds>')
  const { fork } = readUpgradeBundleFile(given, '--upgrade-bundle').pin
  if (fork !== 'lagoon') throw new UsageError(`--upgrade-bundle ${given}: it is that of ${fork}, Lagoon's is needed`)
  return resolve(given)
}

/** Writes them beside the other files that nodes start with. */
export async function writeLagoonFiles(
  layout: Paths,
  chain: Pick<ChainParameters, 'forks' | 'l2ChainId'>,
  upgradeBundle: string | undefined,
): Promise<void> {
  if (lagoonFiles(forkPlan(chain), layout).dependencySet === undefined) return
  const set = { dependencies: { [chain.l2ChainId]: {} }, overrideMessageExpiryWindow: null }
  await writeFile(layout.dependencySet, `${JSON.stringify(set, null, 2)}\n`)
  if (upgradeBundle === undefined || upgradeBundle === layout.upgradeBundle) return
  await copyFile(upgradeBundle, layout.upgradeBundle)
}
