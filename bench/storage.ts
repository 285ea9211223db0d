import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ClassicLevel } from 'classic-level'
import { BlockDriver } from '../src/execution/testUtils/blockDriver.ts'
import { type ExecutionNode, startExecutionNode } from '../src/execution/testUtils/executionNode.ts'
import { systemClock } from '../src/lib/clock.ts'
import { ZERO_HASH } from '../src/rollup/protocol/types.ts'
import { roles } from '../testnet/accounts.ts'
import { ArtifactStore, findContractsPackage } from '../testnet/contracts/artifact.ts'
import { forksAtGenesis } from '../testnet/forks.ts'
import { buildL2Genesis } from '../testnet/genesis/l2Genesis.ts'
import { buildRollupConfig } from '../testnet/genesis/rollupConfig.ts'
import { l1Addresses } from '../testnet/l1/contracts.ts'

// Disk use of empty blocks. They are built, imported and made head by Engine API methods, with a finalized block that follows the
// head. Run: node bench/storage.ts [blocks] [finalizedBelow]. Exit code 1 if an empty block takes more than 1.5 kB. The memory is
// that of the program and its client in one process.

const [blocks = 10_000, finalizedBelow = 600] = process.argv.slice(2).map(Number)
const MAX_BYTES = 1500

const written = { bytes: 0, operations: 0 }
countWrites()

/** Counts the bytes of keys and values written to LevelDB. */
function countWrites(): void {
  const count = (...parts: { length: number }[]): void => {
    written.operations++
    for (const { length } of parts) written.bytes += length
  }
  const { batch } = ClassicLevel.prototype
  ClassicLevel.prototype.batch = function (this: ClassicLevel, ...args: unknown[]) {
    const result = Reflect.apply(batch, this, args)
    const [operations] = args
    if (Array.isArray(operations)) for (const { key, value = '' } of operations) count(key, value)
    else {
      const { put, del } = result
      result.put = (key: Uint8Array, value: Uint8Array) => {
        count(key, value)
        return put.call(result, key, value)
      }
      result.del = (key: Uint8Array) => {
        count(key)
        return del.call(result, key)
      }
    }
    return result
  } as typeof batch
}

async function directoryBytes(path: string): Promise<number> {
  let sum = 0
  for (const entry of await readdir(path, { withFileTypes: true, recursive: true })) {
    if (entry.isFile()) sum += (await stat(join(entry.parentPath, entry.name))).size
  }
  return sum
}

/** Bytes on the disk after compaction. Tables that await compaction hold some megabytes, which do not belong to blocks. */
async function compactedBytes(node: ExecutionNode): Promise<number> {
  const directory = join(node.datadir, 'geth', 'chaindata')
  await node.chain.close()
  const level = new ClassicLevel<Uint8Array, Uint8Array>(directory, { keyEncoding: 'view', valueEncoding: 'view' })
  await level.open()
  await level.compactRange(new Uint8Array(0), new Uint8Array(64).fill(0xff))
  await level.close()
  const bytes = await directoryBytes(directory)
  await node.close()
  return bytes
}

// A realistic chain: 2,000 predeploys, and Karst's writes (two ring buffers of hashes and roots).
const parameters = {
  l1ChainId: 900,
  l2ChainId: 901,
  blockTime: 1,
  l1BlockTime: 12,
  genesisTime: 1_700_000_000,
  forks: forksAtGenesis('karst'),
}
const l1 = l1Addresses(roles.owner.address)
const genesis = await buildL2Genesis(new ArtifactStore(findContractsPackage()), parameters, l1)
const before = await compactedBytes(await startExecutionNode(genesis.file, { clock: systemClock }))
const node = await startExecutionNode(genesis.file, { clock: systemClock })
const rollup = buildRollupConfig(parameters, l1, { hash: ZERO_HASH, number: 0 }, genesis.hash)
const driver = new BlockDriver(node.engine, rollup)
// The genesis is written.
written.bytes = 0
const startedAt = performance.now()
let peak = 0
const row = (what: string, value: number, unit: string) =>
  console.log(`${what.padEnd(58)}${value.toFixed(0).padStart(8)} ${unit}`)
for (let number = 1; number <= blocks; number++) {
  await driver.build({ noTxPool: true })
  if (number % 100 === 0 && number > finalizedBelow) {
    const [head, finalized] = [
      await node.chain.headerByNumber(number),
      await node.chain.headerByNumber(number - finalizedBelow),
    ]
    await driver.setHead(head?.hash ?? ZERO_HASH, finalized?.hash, finalized?.hash)
  }
  peak = Math.max(peak, process.memoryUsage.rss())
  if (number % 10_000 === 0) row(`after ${number} blocks: memory`, process.memoryUsage.rss() / 1e6, 'MB')
}
const seconds = (performance.now() - startedAt) / 1000
const runningBytes = written.bytes
const grown = (await compactedBytes(node)) - before
row('blocks through the Engine API in a second, HTTP included', blocks / seconds, '')
row('bytes put to LevelDB for a block', runningBytes / blocks, 'B')
row('the same with what stopping writes', written.bytes / blocks, 'B')
row('growth of the directory for a block, once put together', grown / blocks, 'B')
row('peak memory, client and program', peak / 1e6, 'MB')
if (written.bytes / blocks > MAX_BYTES || grown / blocks > MAX_BYTES) process.exitCode = 1
