import { readFileSync, statSync } from 'node:fs'
import { describeError, UsageError } from '../../lib/errors.ts'
import { JsonObjectReader, readUpgradeBundle, type UpgradeBundle } from '../../rollup/protocol/index.ts'

/** A published bundle has about 400 kB. */
const MAX_FILE_BYTES = 16_777_216

/** Reads a file of an upgrade bundle that this version supports. Throws UsageError. */
export function readUpgradeBundleFile(path: string, flagName = '--rollup.upgrade-bundle'): UpgradeBundle {
  return read(flagName, path, readUpgradeBundle)
}

/**
 * Chain ids of op-node's `interop.dependency-set` file: `{"dependencies": {"<id>": {}}}`. Throws UsageError, also if the
 * file does not list this chain.
 */
export function readDependencySet(path: string, l2ChainId: bigint): bigint[] {
  return read('--interop.dependency-set', path, (json) => {
    const dependencies = new JsonObjectReader(json, 'dependency set').object('dependencies')
    const ids = dependencies.names().map((text) => {
      if (!/^[1-9]\d{0,77}$/.test(text)) throw new UsageError(`dependencies: expected a chain id, got ${text}`)
      return BigInt(text)
    })
    if (!ids.includes(l2ChainId)) throw new UsageError(`dependencies: chain ${l2ChainId} itself is missing`)
    return ids
  })
}

/** Reads a JSON file. Every error names the flag and the file. */
function read<T>(flagName: string, path: string, parse: (json: unknown) => T): T {
  try {
    const { size } = statSync(path)
    if (size > MAX_FILE_BYTES)
      throw new UsageError(`the file has ${size} bytes, more than the maximum of ${MAX_FILE_BYTES}`)
    return parse(JSON.parse(readFileSync(path, 'utf8')))
  } catch (cause) {
    throw new UsageError(`${flagName} ${path}: ${describeError(cause)}`, { cause })
  }
}
