import { readFile, stat } from 'node:fs/promises'
import { basename, dirname, extname } from 'node:path'
import { describeError, UsageError } from '../../lib/errors.ts'
import type { UnknownMember } from '../../lib/unknownMembers.ts'
import { checkRollupConfig, parseRollupConfig, type RollupConfig, unknownConfigMembers } from '../protocol/index.ts'
import { hardforksOf, isRegistryEntry, parseRegistryEntry } from './registryEntry.ts'
import { parseToml } from './toml.ts'

/** Much more than a rollup config, which has about 2 kB. */
const MAX_FILE_BYTES = 1_048_576
/** File names that do not identify the chain. */
const PLAIN_NAMES = new Set(['rollup', 'config', 'chain', 'network', 'stdin'])

/** The content of a network file. */
export interface NetworkFile {
  config: RollupConfig
  usesAltDa: boolean
  /** Unknown members of a rollup.json, or of the forks of a registry entry. */
  unknown: readonly UnknownMember[]
  /** Derived from the file's name, or from the chain id if the name does not identify the chain. */
  proposedName: string
}

/**
 * Reads and checks a rollup.json, or a chain of the superchain registry as TOML or JSON. Throws UsageError that names
 * the file and the problem.
 */
export async function readNetworkFile(path: string, l1ChainId: bigint | undefined): Promise<NetworkFile> {
  const text = await readSmallFile(path)
  try {
    const json = extname(path).toLowerCase() === '.toml' ? parseToml(text) : parseJsonOrToml(text)
    const superchain = basename(dirname(path))
    const isOfRegistry = isRegistryEntry(json)
    const { config, usesAltDa } = isOfRegistry
      ? parseRegistryEntry(json, { l1ChainId, superchain })
      : readRollupJson(json, l1ChainId)
    if (!usesAltDa) checkRollupConfig(config)
    const unknown = unknownConfigMembers(isOfRegistry ? hardforksOf(json) : json)
    return { config, usesAltDa, unknown, proposedName: proposedName(path, superchain, config, isOfRegistry) }
  } catch (cause) {
    throw new UsageError(`${path} is not a valid network: ${describeError(cause)}`, { cause })
  }
}

function readRollupJson(json: unknown, l1ChainId: bigint | undefined): Pick<NetworkFile, 'config' | 'usesAltDa'> {
  const config = parseRollupConfig(json)
  if (l1ChainId !== undefined && config.l1ChainId !== l1ChainId) {
    throw new UsageError(`it is on L1 ${config.l1ChainId}, not ${l1ChainId} as --l1-chain-id says`)
  }
  return { config, usesAltDa: config.altDa !== undefined }
}

/** Detects JSON by its first brace, because the file may have any name. */
function parseJsonOrToml(text: string): unknown {
  return text.trimStart().startsWith('{') ? JSON.parse(text) : parseToml(text)
}

async function readSmallFile(path: string): Promise<string> {
  try {
    const { size } = await stat(path)
    if (size > MAX_FILE_BYTES) throw new UsageError(`it has ${size} bytes, the maximum is ${MAX_FILE_BYTES}`)
    return await readFile(path, 'utf8')
  } catch (cause) {
    throw new UsageError(`cannot read ${path}: ${describeError(cause)}`, { cause })
  }
}

/** `op.toml` in the registry's folder `mainnet` gives op-mainnet; `rollup.json` of chain 901 gives chain-901. */
function proposedName(path: string, superchain: string, config: RollupConfig, isOfRegistry: boolean): string {
  const base = basename(path, extname(path))
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[^a-z0-9]+/, '')
    .slice(0, 48)
  const name = base === '' || PLAIN_NAMES.has(base) ? `chain-${config.l2ChainId}` : base
  return isOfRegistry && (superchain === 'mainnet' || superchain === 'sepolia') ? `${name}-${superchain}` : name
}
