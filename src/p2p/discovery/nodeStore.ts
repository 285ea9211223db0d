import { join } from 'node:path'
import { z } from 'zod'
import { UsageError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'
import { readWholeJson, writeWhole } from '../../lib/wholeFile.ts'
import { DEFAULT_DISCOVERY_OPTIONS } from '../base/options.ts'

/** Persists the records of known nodes, and our own record, whose sequence number must never decrease. */
export interface NodeStore {
  /** The saved `enr:…` texts. Their signatures are not verified. */
  load(): Promise<string[]>
  save(records: readonly string[]): Promise<void>
}

export const MAX_STORED_RECORDS = 512
const FILE = 'nodes.json'
const STORED = z.object({ version: z.literal(1), records: z.array(z.string()) })
const DAMAGED = 'Discovery store is damaged: moved it aside, starting with an empty one'

/**
 * A JSON file in the folder, replaced as a whole (write, sync, rename). `memory` persists nothing. A damaged file is
 * renamed to `nodes.json.corrupt-<time>` and logged; the nodes will be found again. An empty path means op-node's
 * default path.
 */
export function openNodeStore(folder: string, modules: { logger: Logger; clock: { now(): number } }): NodeStore {
  if (folder === 'memory') return { load: async () => [], save: async () => {} }
  const path = join(folder || DEFAULT_DISCOVERY_OPTIONS.path, FILE)
  return {
    async load() {
      try {
        return (
          (await readWholeJson(path, (json) => STORED.parse(json).records, { ...modules, complaint: DAMAGED })) ?? []
        )
      } catch (cause) {
        throw new UsageError(`cannot read the discovery store ${path} (--p2p.discovery.path)`, { cause })
      }
    },
    save: (records) => writeWhole(path, JSON.stringify({ version: 1, records }, null, 1)),
  }
}
