import { existsSync } from 'node:fs'
import { cp, rm, writeFile } from 'node:fs/promises'
import type { NodeLayout } from './layout.ts'

type Layout = Pick<NodeLayout, 'gethDataDir' | 'initialised'>

/** Whether the execution client has its genesis block. */
export function isInitialised({ gethDataDir, initialised }: Layout): boolean {
  return existsSync(initialised) && existsSync(gethDataDir)
}

/** Copies the data of another node, whose execution client has not run yet. */
export async function copyInitialised(from: Layout, to: Layout): Promise<void> {
  await rm(to.gethDataDir, { recursive: true, force: true })
  await cp(from.gethDataDir, to.gethDataDir, { recursive: true })
  await writeFile(to.initialised, '')
}
