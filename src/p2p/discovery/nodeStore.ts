import { join } from 'node:path'
import { DecodeError, UsageError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'
import { readWholeJson, writeWhole } from '../../lib/wholeFile.ts'

/** Records of known nodes across restarts, and our own, whose sequence must never fall. */
export interface NodeStore {
  /** `enr:…` texts, as they were saved; their signatures are not checked. */
  load(): Promise<string[]>
  save(records: readonly string[]): Promise<void>
}

export const MAX_STORED_RECORDS = 512
const FILE = 'nodes.json'
const VERSION = 1
const DAMAGED = 'Discovery store was damaged: set aside, starting with an empty one'

/**
 * A JSON file in the folder, replaced as a whole (write, sync, rename); `memory` keeps nothing. A damaged file is set
 * aside as `nodes.json.corrupt-<time>` and reported: nodes are found again. An empty path is op-node's default one.
 */
export function openNodeStore(folder: string, modules: { logger: Logger; clock: { now(): number } }): NodeStore {
  if (folder === 'memory') return { load: async () => [], save: async () => {} }
  const path = join(folder === '' ? DEFAULT_FOLDER : folder, FILE)
  return {
    async load() {
      try {
        return (await readWholeJson(path, parse, { ...modules, complaint: DAMAGED })) ?? []
      } catch (cause) {
        throw new UsageError(`cannot read the discovery store ${path} (--p2p.discovery.path)`, { cause })
      }
    },
    save: (records) => writeWhole(path, JSON.stringify({ version: VERSION, records }, null, 1)),
  }
}

const DEFAULT_FOLDER = 'opnode_discovery_db'

function parse(json: unknown): string[] {
  if (typeof json !== 'object' || json === null) throw new DecodeError('not an object')
  if (!('version' in json) || json.version !== VERSION) throw new DecodeError('unknown version')
  if (!('records' in json) || !Array.isArray(json.records)) throw new DecodeError('no list of records')
  return json.records.filter((record): record is string => typeof record === 'string').slice(0, MAX_STORED_RECORDS)
}
