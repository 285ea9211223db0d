import { writeFile } from 'node:fs/promises'
import type { TestnetLayout } from '../runner/layout.ts'
import type { ClientChoice } from './clients.ts'

type Paths = Pick<TestnetLayout, 'l1Config'>

/** What kona asks for beside the rest; op-node refuses a file with fields that it does not know. */
const KONA_FIELDS = { terminalTotalDifficultyPassed: true, depositContractAddress: `0x${'0'.repeat(40)}` }

/** Kona's own file of L1's chain config. */
export function konaL1Config({ l1Config }: Paths): string {
  return l1Config.replace(/\.json$/, '-kona.json')
}

/** Writes L1's chain config, for kona too where a node has it. */
export async function writeL1Config(
  { layout, clients }: { layout: Paths; clients: readonly ClientChoice[] },
  config: Record<string, unknown>,
): Promise<void> {
  const write = (path: string, content: object) => writeFile(path, `${JSON.stringify(content, null, 2)}\n`)
  await write(layout.l1Config, config)
  if (clients.some(({ client }) => client === 'kona')) await write(konaL1Config(layout), { ...config, ...KONA_FIELDS })
}
