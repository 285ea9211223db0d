import { readFileSync } from 'node:fs'
import { UsageError } from '../../../lib/errors.ts'
import { asObject } from '../../../lib/jsonReader.ts'
import type { Logger } from '../../../lib/logger.ts'
import { hasLeftRegistry, isBuiltIn, networkOfChain, rollupConfigOf } from '../../../rollup/networks/index.ts'
import type { RollupConfig } from '../../../rollup/protocol/index.ts'
import { type ConfigValues, readChosenChain, validateChain } from '../../node/rollupNodeConfig.ts'
import type { ChainFacts, NamedTime } from './facts.ts'

/** Reads the chain that the flags name, even a chain that the node refuses. Throws UsageError if there is no such chain. */
export async function gatherChain(values: ConfigValues, logger: Logger): Promise<ChainFacts> {
  const { given, chosen } = await readChosenChain(values, logger)
  const { config, source } = chosen
  const facts = {
    source,
    given: given.forks,
    registry: registryOf(config),
    isBuiltIn: values.network !== undefined && isBuiltIn(values.network),
    l1Forks: l1ForksOf(values.rollupL1ChainConfig),
  }
  try {
    return { ...facts, config: validateChain(chosen, values, logger), refusal: undefined }
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    const { fork } = error.details
    return { ...facts, config, refusal: { text: error.message, fork: typeof fork === 'string' ? fork : null } }
  }
}

/** Checks the genesis too, because anybody may run a chain with this id. */
function registryOf({ l2ChainId, genesis }: RollupConfig): ChainFacts['registry'] {
  const name = networkOfChain(l2ChainId)
  if (name === undefined) return undefined
  const known = rollupConfigOf(name)
  if (known.genesis.l2.hash !== genesis.l2.hash) return undefined
  return { name, forks: known.forks, hasLeft: hasLeftRegistry(name) }
}

/** `<name>Time` of geth's chain config, or of a genesis file that holds it. Other code reports errors of the file. */
function l1ForksOf(path: string | undefined): NamedTime[] {
  if (path === undefined) return []
  try {
    const json: unknown = JSON.parse(readFileSync(path, 'utf8'))
    const { config = json } = asObject(json, 'L1 chain config')
    return Object.entries(asObject(config, 'config')).flatMap(([member, time]): NamedTime[] => {
      const [, name] = /^(\w+)Time$/.exec(member) ?? []
      return name !== undefined && typeof time === 'number' && Number.isSafeInteger(time)
        ? [{ name: name.toLowerCase(), time }]
        : []
    })
  } catch {
    return []
  }
}
