import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createRpcClient } from '../../src/jsonRpc/client.ts'
import type { RollupConfig } from '../../src/rollup/protocol/index.ts'
import { l2BlockTime } from '../../src/rollup/protocol/index.ts'
import { quantile } from '../figures.ts'

export interface SealedBlock {
  timestamp: number
  transactions: number
  sealingMs: number
  /** Negative if before the timestamp. */
  publishedAfterMs: number
}

/** Makes a sequencer log every block. Empty blocks are logged at debug level. */
export async function logEveryBlock(rollupRpc: string): Promise<void> {
  const client = createRpcClient({ url: rollupRpc })
  await client.request('admin_setLogLevel', ['debug'])
  await client.close()
}

/** Parses the blocks in the sequencer's log. */
export function sealedBlocks(logDirectory: string, config: RollupConfig): SealedBlock[] {
  return readdirSync(logDirectory).flatMap((name) =>
    readFileSync(join(logDirectory, name), 'utf8')
      .split('\n')
      .filter((line) => line.includes('msg="Sequenced block"'))
      .map((line) => ({
        timestamp: l2BlockTime(config, field(line, 'number')),
        transactions: field(line, 'txs'),
        sealingMs: field(line, 'sealingMs'),
        publishedAfterMs: field(line, 'publishedAfterMs'),
      })),
  )
}

function field(line: string, name: string): number {
  const value = new RegExp(` ${name}=(-?\\d+)`).exec(line)?.[1]
  if (value === undefined) throw new Error(`no ${name} in: ${line}`)
  return Number(value)
}

export function summary(values: readonly number[]): string {
  const at = (part: number) => quantile(values, part)
  return `${values.length} blocks: p50 ${at(0.5)} ms, p90 ${at(0.9)} ms, p99 ${at(0.99)} ms (${at(0)} to ${at(1)})`
}
