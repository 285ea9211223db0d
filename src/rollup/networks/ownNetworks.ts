import { readdir, readFile, unlink } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { DecodeError, describeError, isErrno, UsageError } from '../../lib/errors.ts'
import { nearestTo } from '../../lib/nearest.ts'
import { writeWhole } from '../../lib/wholeFile.ts'
import { checkRollupConfig, parseRollupConfig, type RollupConfig, rollupConfigToJson } from '../protocol/index.ts'
import { hasLeftRegistry, isBuiltIn, networkNames, rollupConfigOf, usesAltDa } from './registry.ts'

/** Number of names that the error about an unknown name suggests. */
const PROPOSALS = 3
const NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/

/** A network that `--network` can name. */
export interface Network {
  name: string
  config: RollupConfig
  usesAltDa: boolean
  /** Whether the upstream registry has dropped this built-in network. */
  hasLeftRegistry: boolean
  /** Undefined for a built-in network. */
  path: string | undefined
}

/** The folder of networks that the operator has added: `networks/` in the user's data folder. */
export function ownNetworksFolder(
  env: NodeJS.ProcessEnv = process.env,
  platform: NodeJS.Platform = process.platform,
): string {
  if (env.DEVIUM_DATA_DIR) return join(env.DEVIUM_DATA_DIR, 'networks')
  if (env.XDG_DATA_HOME) return join(env.XDG_DATA_HOME, 'devium', 'networks')
  if (platform === 'darwin') return join(homedir(), 'Library', 'Application Support', 'devium', 'networks')
  if (platform === 'win32' && env.LOCALAPPDATA) return join(env.LOCALAPPDATA, 'devium', 'networks')
  return join(homedir(), '.local', 'share', 'devium', 'networks')
}

/** Names of the networks in the folder, in alphabetical order; empty if the folder does not exist. */
export async function ownNetworkNames(folder: string): Promise<string[]> {
  let files: string[]
  try {
    files = await readdir(folder)
  } catch (cause) {
    if (isErrno(cause, 'ENOENT')) return []
    throw new UsageError(`cannot read the folder of added networks ${folder}: ${describeError(cause)}`, { cause })
  }
  return files
    .filter((file) => file.endsWith('.json'))
    .map((file) => file.slice(0, -'.json'.length))
    .filter((name) => NAME.test(name) && !isBuiltIn(name))
    .sort()
}

/**
 * Finds a built-in or added network. Throws UsageError that suggests the nearest names if the name is unknown, or if
 * the file of an added network is damaged.
 */
export async function findNetwork(name: string, folder: string): Promise<Network> {
  if (isBuiltIn(name)) {
    const [config, hasLeft] = [rollupConfigOf(name), hasLeftRegistry(name)]
    return { name, config, usesAltDa: usesAltDa(name), hasLeftRegistry: hasLeft, path: undefined }
  }
  const own = await ownNetworkNames(folder)
  if (!own.includes(name)) {
    const nearest = nearestTo(name, [...own, ...networkNames()], PROPOSALS).join(', ')
    throw new UsageError(`unknown network "${name}"; the nearest known are ${nearest}`)
  }
  const path = pathOf(folder, name)
  try {
    const config = parseRollupConfig(JSON.parse(await readFile(path, 'utf8')))
    checkRollupConfig(config)
    return { name, config, usesAltDa: config.altDa !== undefined, hasLeftRegistry: false, path }
  } catch (cause) {
    throw new UsageError(`added network ${name} (${path}) is not valid: ${describeError(cause)}`, { cause })
  }
}

/**
 * Stores a network under a name. Returns `same` if it already existed. Throws UsageError for an invalid name or a
 * built-in name. Unless `replace`, also throws for an added network with other settings.
 */
export async function addNetwork(
  folder: string,
  name: string,
  config: RollupConfig,
  { replace = false }: { replace?: boolean } = {},
): Promise<'added' | 'same' | 'replaced'> {
  if (!NAME.test(name)) {
    throw new UsageError(
      `"${name}" cannot be a network's name: expected up to 64 small letters, digits, ".", "_" and "-", beginning with a letter or digit`,
    )
  }
  if (isBuiltIn(name)) {
    throw new UsageError(
      `"${name}" is the name of a built-in network, which cannot be changed: choose another name with --name`,
    )
  }
  checkRollupConfig(config)
  const path = pathOf(folder, name)
  const text = `${JSON.stringify(rollupConfigToJson(config), null, 2)}\n`
  const before = await readOwn(path)
  if (before === text) return 'same'
  if (before !== undefined && !replace) {
    throw new UsageError(`network ${name} was added before with other settings (${path}): --replace overwrites them`)
  }
  try {
    await writeWhole(path, text)
  } catch (cause) {
    throw new UsageError(`cannot write ${path}: ${describeError(cause)}`, { cause })
  }
  return before === undefined ? 'added' : 'replaced'
}

/** Throws UsageError if no such network was added. */
export async function removeNetwork(folder: string, name: string): Promise<void> {
  if (isBuiltIn(name)) throw new UsageError(`${name} is a built-in network: only added ones can be removed`)
  const own = await ownNetworkNames(folder)
  if (!own.includes(name)) {
    const known = own.length === 0 ? 'none was added' : `added are ${own.join(', ')}`
    throw new UsageError(`no network "${name}" was added; ${known}`)
  }
  await unlink(pathOf(folder, name))
}

async function readOwn(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    if (isErrno(cause, 'ENOENT')) return undefined
    throw new UsageError(`cannot read ${path}: ${describeError(cause)}`, { cause })
  }
}

function pathOf(folder: string, name: string): string {
  if (!NAME.test(name)) throw new DecodeError(`"${name}" is not a network name`)
  return join(folder, `${name}.json`)
}
