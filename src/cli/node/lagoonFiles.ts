import { readFileSync, statSync } from 'node:fs'
import { describeError, UsageError } from '../../lib/errors.ts'
import {
  JsonObjectReader,
  type RollupConfig,
  readUpgradeBundle,
  type UpgradeBundle,
} from '../../rollup/protocol/index.ts'

/** A published bundle has about 400 kB. */
const MAX_FILE_BYTES = 16_777_216

/** Reads a file of an upgrade bundle that this version supports. Throws UsageError. */
export function readUpgradeBundleFile(path: string, flagName = '--rollup.upgrade-bundle'): UpgradeBundle {
  return read(flagName, path, readUpgradeBundle)
}

/**
 * op-node's `interop.dependency-set` file: `{"dependencies": {"<id>": {}}, "overrideMessageExpiryWindow": null or
 * seconds}`. Throws UsageError, also if the file does not list this chain.
 */
export function readDependencySet(
  path: string,
  l2ChainId: bigint,
): Pick<RollupConfig, 'dependencySet' | 'messageExpiryWindowS'> {
  return read('--interop.dependency-set', path, (json) => {
    const set = new JsonObjectReader(json, 'dependency set')
    const ids = set
      .object('dependencies')
      .names()
      .map((text) => {
        if (!/^[1-9]\d{0,77}$/.test(text)) throw new UsageError(`dependencies: expected a chain id, got ${text}`)
        return BigInt(text)
      })
    if (!ids.includes(l2ChainId)) throw new UsageError(`dependencies: chain ${l2ChainId} itself is missing`)
    const messageExpiryWindowS = set.optionalInteger('overrideMessageExpiryWindow') ?? 0
    return { dependencySet: ids, ...(messageExpiryWindowS === 0 ? {} : { messageExpiryWindowS }) }
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
