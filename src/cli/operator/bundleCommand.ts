import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import type { Command } from 'commander'
import type { RpcClient } from '../../jsonRpc/client.ts'
import { describeError, UsageError } from '../../lib/errors.ts'
import { toHex, toQuantity } from '../../lib/hex.ts'
import type { UpgradeBundle } from '../../rollup/protocol/index.ts'
import { checkHttpUrl } from '../shared/httpUrl.ts'

interface FromBlockFlags {
  rpc: string
  block?: string
  out?: string
}

/** `devium bundle`: the published upgrade transactions that a node needs at the activation block of Lagoon. */
export function addBundleCommands(program: Command): void {
  const bundle = program
    .command('bundle')
    .description("Check the upgrade bundle of a fork, or read it from the fork's activation block")

  bundle
    .command('check <file>')
    .description('Check that a file is an upgrade bundle that this version knows')
    .action(async (path: string) => {
      const { readUpgradeBundleFile } = await import('../node/lagoonFiles.ts')
      const found = readUpgradeBundleFile(path)
      const sha256 = toHex(
        createHash('sha256')
          .update(await readFile(path))
          .digest(),
      )
      const isPublished = sha256 === found.pin.sha256
      const form = isPublished ? 'the published file' : 'the published transactions in another form'
      console.log(`${path}: ${describe(found)}, ${form} (sha256 ${sha256.slice(2)})`)
    })

  bundle
    .command('from-block')
    .description("Read the upgrade bundle from a fork's activation block in an execution client, and print it")
    .requiredOption('--rpc <url>', 'JSON-RPC address of an execution client of the chain')
    .option(
      '--block <number>',
      "Number of the activation block (default: found by the hash of Lagoon's last upgrade transaction)",
    )
    .option('--out <file>', 'Write the bundle to this file, for --rollup.upgrade-bundle')
    .addHelpText('after', FROM_BLOCK_HELP)
    .action(async ({ rpc, block, out }: FromBlockFlags) => {
      const { upgradeBundleToJson } = await import('../../rollup/protocol/index.ts')
      const found = await readFromBlock(rpc, block === undefined ? undefined : blockNumber(block))
      const text = JSON.stringify(upgradeBundleToJson(found), null, 1)
      if (out === undefined) {
        console.log(text)
        return
      }
      await writeFile(out, `${text}\n`).catch((cause: unknown) => {
        throw new UsageError(`--out ${out}: ${describeError(cause)}`, { cause })
      })
      console.log(`${out}: ${describe(found)}`)
    })
}

const FROM_BLOCK_HELP = `
The command does not trust the client: it accepts only the published transactions.
Example: devium bundle from-block --rpc http://127.0.0.1:8545 --out lagoon.json`

const describe = ({ pin, deposits }: UpgradeBundle): string =>
  `the upgrade bundle of ${pin.fork}, ${deposits.length} transactions, ${pin.gas} gas`

/** Throws UsageError when the endpoint, the block or its content is not the expected one. */
async function readFromBlock(url: string, wanted: number | undefined): Promise<UpgradeBundle> {
  checkHttpUrl('--rpc', url)
  const { createRpcClient, RpcTransportError } = await import('../../jsonRpc/client.ts')
  const { findUpgradeBundle, payloadFromRpcBlock } = await import('../../rollup/protocol/index.ts')
  const rpc = createRpcClient({ url })
  try {
    const number = wanted ?? (await activationBlock(rpc))
    const block = await rpc.request('eth_getBlockByNumber', [toQuantity(number), true])
    if (block === null) throw new UsageError(`the execution client at ${rpc.url} has no block ${number}`)
    // The result does not depend on whether the block's root is that of withdrawals.
    const { payload } = payloadFromRpcBlock(block, () => true)
    const found = findUpgradeBundle(payload.transactions)
    if (found === undefined)
      throw new UsageError(`block ${number} (${payload.blockHash}) contains no upgrade bundle that this version knows`)
    return found
  } catch (cause) {
    if (cause instanceof RpcTransportError) throw new UsageError(`--rpc: ${cause.message}`, { cause })
    throw cause
  } finally {
    await rpc.close()
  }
}

/** Number of Lagoon's activation block, found by a deposit hash: these hashes are the same on every chain. */
async function activationBlock(rpc: RpcClient): Promise<number> {
  const { BUNDLE_PINS, JsonObjectReader } = await import('../../rollup/protocol/index.ts')
  const { lastHash } = BUNDLE_PINS.lagoon
  const transaction = await rpc.request('eth_getTransactionByHash', [lastHash])
  if (transaction !== null) return new JsonObjectReader(transaction, 'transaction').quantityNumber('blockNumber')
  throw new UsageError(
    `the execution client at ${rpc.url} has no upgrade transaction of Lagoon (${lastHash}). If its chain has activated Lagoon, set --block to the activation block`,
  )
}

function blockNumber(text: string): number {
  const number = /^\d+$/.test(text) ? Number(text) : Number.NaN
  if (!Number.isSafeInteger(number)) throw new UsageError(`--block must be a block number, got ${text}`)
  return number
}
