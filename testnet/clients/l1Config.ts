import { writeFile } from 'node:fs/promises'
import type { TestnetLayout } from '../runner/layout.ts'
import type { ClientChoice } from './clients.ts'

type Paths = Pick<TestnetLayout, 'l1Config'>

/** Fields that only kona-node requires. op-node refuses a file with unknown fields, so kona-node has a file of its own. */
export const KONA_FIELDS = { terminalTotalDifficultyPassed: true, depositContractAddress: `0x${'0'.repeat(40)}` }

/** Path of kona-node's copy of the L1 chain config. */
export function konaL1Config({ l1Config }: Paths): string {
  return l1Config.replace(/\.json$/, '-kona.json')
}

/** Writes the L1 chain config, and kona-node's copy if a node runs kona-node. */
export async function writeL1Config(
  { layout, clients }: { layout: Paths; clients: readonly ClientChoice[] },
  config: Record<string, unknown>,
): Promise<void> {
  const write = (path: string, content: object) => writeFile(path, `${JSON.stringify(content, null, 2)}\n`)
  await write(layout.l1Config, config)
  if (clients.some(({ client }) => client === 'kona')) await write(konaL1Config(layout), { ...config, ...KONA_FIELDS })
}
