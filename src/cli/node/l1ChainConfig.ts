import { readFileSync } from 'node:fs'
import { describeError, UsageError } from '../../lib/errors.ts'
import { type BlobScheduleEntry, JsonObjectReader } from '../../rollup/protocol/index.ts'

/**
 * L1 forks with blob fee parameters, by geth's names: `<name>Time` and `blobSchedule.<name>`. Entries that op-node v1.21.0
 * has retired (osaka, verkle, amsterdam) are ignored: Osaka keeps Prague's parameters.
 */
const BLOB_FORKS = ['cancun', 'prague', 'bpo1', 'bpo2', 'bpo3', 'bpo4', 'bpo5'] as const

/**
 * Reads the blob fee parameters of a private L1 from geth's chain config, or from a genesis file that holds it (op-node's
 * `rollup.l1-chain-config`). Throws UsageError, also for a config of another chain.
 */
export function readL1BlobSchedule(path: string, l1ChainId: bigint): BlobScheduleEntry[] {
  try {
    const file = new JsonObjectReader(JSON.parse(readFileSync(path, 'utf8')), 'L1 chain config')
    const config = file.optionalObject('config') ?? file
    const chainId = config.bigint('chainId')
    if (chainId !== l1ChainId) throw new UsageError(`L1 chain config is of chain ${chainId}, expected ${l1ChainId}`)
    const schedule = config.optionalObject('blobSchedule')
    if (config.has('optimism')) {
      throw new UsageError(`chain ${chainId} is an OP Stack L2. A chain on top of an L2 (L3) is not supported`)
    }
    if (schedule === undefined) throw new UsageError('L1 chain config does not have a blob schedule config')
    return BLOB_FORKS.flatMap((fork) => {
      const time = config.optionalInteger(`${fork}Time`)
      const parameters = schedule.optionalObject(fork)
      if (time === undefined || parameters === undefined) return []
      return [{ time, updateFraction: parameters.bigint('baseFeeUpdateFraction') }]
    }).sort((a, b) => a.time - b.time)
  } catch (cause) {
    throw new UsageError(`--rollup.l1-chain-config ${path}: ${describeError(cause)}`, { cause })
  }
}
