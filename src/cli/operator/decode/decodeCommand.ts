import { readFile } from 'node:fs/promises'
import { type Command, Option } from 'commander'
import { describeError, UsageError } from '../../../lib/errors.ts'
import { fromHex, isHex, lowerHex } from '../../../lib/hex.ts'
import type { RollupConfig } from '../../../rollup/protocol/types.ts'
import { type Decoded, decodeInputs } from './decode.ts'
import type { Fault } from './fault.ts'
import { type DecodeInput, readInput } from './input.ts'
import { KIND_HELP, KINDS, type Kind } from './kinds.ts'

interface DecodeFlags {
  as?: Kind
  network?: string
  'rollup.config'?: string
  l1?: string
  'l1.beacon'?: string
  transactions: boolean
  compact?: true
}

/** Exit code when everything was read, but some input breaks a rule. */
const EXIT_MALFORMED = 2

/** `devium decode`: prints posted batcher data as JSON. */
export function addDecode(parent: Command): Command {
  return parent
    .command('decode [inputs...]')
    .description('Decode a batcher transaction, blob, frame, channel or batch, and print it as JSON')
    .addOption(new Option('--as <kind>', 'Kind of the inputs (default: detected)').choices(KINDS))
    .option('--network <name>', 'Network of the batches; required for the hashes, senders and times of a span batch')
    .option('--rollup.config <file>', 'Rollup config of the batches, in place of --network')
    .option('--l1 <url>', 'JSON-RPC address of L1, for inputs that are transaction hashes')
    .option('--l1.beacon <url>', 'Beacon API, for the blobs of such a transaction')
    .option('--no-transactions', 'Print the number of transactions of a block, not the list')
    .option('--compact', 'Print JSON on one line')
    .addHelpText('after', HELP)
    .action(async (inputs: string[], flags: DecodeFlags) => {
      // The reader of a pipe may close it early, as `head` does.
      process.stdout.on('error', () => process.exit(1))
      if (inputs.length === 0 && process.stdin.isTTY === true) {
        throw new UsageError(
          'expected an input: a file, hex text, the hash of an L1 transaction with --l1, or standard input',
        )
      }
      const config = await chosenConfig(flags)
      const contents: DecodeInput[] = []
      for (const input of inputs.length === 0 ? ['-'] : inputs) contents.push(...(await readArgument(input, flags)))
      const decoded = await decodeInputs(contents, {
        config,
        listTransactions: flags.transactions,
        ...(flags.as === undefined ? {} : { as: flags.as }),
      })
      console.log(JSON.stringify(decoded, null, flags.compact ? undefined : 2))
      for (const line of faultLines(decoded)) process.stderr.write(`devium: ${line}\n`)
      if (decoded.faults > 0) process.exitCode = EXIT_MALFORMED
    })
}

const HELP = `
Kinds of inputs, detected unless --as sets the kind:
${KINDS.map((kind) => `  ${kind.padEnd(12)} ${KIND_HELP[kind]}`).join('\n')}

An input is a file, - for standard input, hex text (0x…), or with --l1 the hash of a transaction. A file contains bytes,
hex (one item per line) or JSON: transactions and blocks from JSON-RPC, blobs from a beacon node, or frames.
The command joins the frames of all inputs to channels, in any order.

Exit code: 0 all inputs are valid, 2 some input breaks a rule (stderr names the rule and the byte), 1 an input cannot be read.

Examples:
  devium decode frame0.bin frame1.bin --network op-mainnet
  cast tx 0x… --json | devium decode --network op-mainnet --no-transactions
  curl …/eth/v1/beacon/blobs/1234 | devium decode --rollup.config rollup.json
  devium decode 0x5f…e1 --l1 https://… --l1.beacon https://… --network op-mainnet
  devium decode --as batch span-batch.raw.bin | jq '.batches[0].layout'`

async function readArgument(input: string, flags: DecodeFlags): Promise<DecodeInput[]> {
  if (isHex(input, 32)) {
    if (flags.l1 === undefined) throw new UsageError(`${input}: an L1 transaction hash requires --l1`)
    const { readFromL1 } = await import('./fromL1.ts')
    return readFromL1(lowerHex(input), { l1: flags.l1, beacon: flags['l1.beacon'] })
  }
  if (!/^0[xX]/.test(input)) return readInput(input)
  try {
    return [{ source: input.length > 20 ? `${input.slice(0, 18)}…` : input, bytes: fromHex(input) }]
  } catch (cause) {
    throw new UsageError(`"${input.slice(0, 20)}" is not hex: ${describeError(cause)}`, { cause })
  }
}

async function chosenConfig(flags: DecodeFlags): Promise<RollupConfig | undefined> {
  const path = flags['rollup.config']
  if (flags.network !== undefined) {
    if (path !== undefined) throw new UsageError('--network and --rollup.config exclude each other')
    const { findNetwork, ownNetworksFolder } = await import('../../../rollup/networks/index.ts')
    return (await findNetwork(flags.network, ownNetworksFolder())).config
  }
  if (path === undefined) return undefined
  const { parseRollupConfig } = await import('../../../rollup/protocol/index.ts')
  try {
    return parseRollupConfig(JSON.parse(await readFile(path, 'utf8')))
  } catch (cause) {
    throw new UsageError(`--rollup.config ${path}: ${describeError(cause)}`, { cause })
  }
}

/** A line for each fault, which begins with the place. */
function faultLines({ inputs, channels, batches }: Decoded): string[] {
  const line = (source: string, fault: Fault | null) => {
    if (fault === null) return []
    const byte = fault.byte === null ? '' : `byte ${fault.byte} of the `
    return [`${source}: ${byte}${fault.in}: ${fault.rule} (${fault.effect})`]
  }
  return [
    ...inputs.flatMap(({ source, fault }) => line(source, fault)),
    ...channels.flatMap((channel) => {
      const name = channel.id === null ? `channel in ${channel.source}` : `channel ${channel.id}`
      const own = channel.batches.flatMap(({ fault }, i) => line(`${name}, batch ${i}`, fault))
      return [...own, ...line(name, channel.fault)]
    }),
    ...batches.flatMap(({ source, fault }) => line(source, fault)),
    ...inputs.flatMap(({ source, note }) => (note === undefined ? [] : [`${source}: ${note}`])),
  ]
}
