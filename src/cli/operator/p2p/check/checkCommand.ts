import { readFile } from 'node:fs/promises'
import type { Command } from 'commander'
import { systemClock } from '../../../../lib/clock.ts'
import { parseDurationMs } from '../../../../lib/duration.ts'
import { describeError, UsageError } from '../../../../lib/errors.ts'
import { parsePrivateKeyHex } from '../../../../p2p/index.ts'
import { findNetwork, ownNetworksFolder } from '../../../../rollup/networks/index.ts'
import { printLines } from '../../../shared/terminal/printLines.ts'
import { type NodeOptions, nodeCommand, withNode } from '../../nodeCommand.ts'
import { printJson } from '../../printJson.ts'
import { addressOfPeer } from './addressOfPeer.ts'
import type { CheckOptions } from './checkPeer.ts'
import { reportLines, stepLines } from './checkView.ts'
import { readOwnNode } from './readOwnNode.ts'

interface CheckFlags extends NodeOptions {
  chainId?: string
  network?: string
  block?: string
  identity?: string
  timeout: string
}

/** `devium p2p check`: exits with 0 when a node of the chain can be reached there, otherwise with 1. */
export const addCheck = (parent: Command): Command =>
  nodeCommand(
    parent,
    'check <address>',
    'Dial a multiaddress, ENR, enode or known peer step by step, and show which step fails and why',
  )
    .option('--chain-id <id>', 'Expected chain of the peer (default: the chain of the node at --rpc)')
    .option('--network <name>', 'Expected chain by name, for example op-mainnet')
    .option('--block <number>', 'L2 block to request from the peer (default: the safe head of the node at --rpc)')
    .option(
      '--identity <file>',
      'Dial with this node key (--p2p.priv.path) in place of a new key; shows whether the peer has banned it',
    )
    .option('--timeout <duration>', 'Timeout of each step', '10s')
    .option('--json', 'Print the steps as JSON')
    .action(async (address: string, flags: CheckFlags) => {
      const options = await readFlags(address, flags)
      // The reader of a pipe may close it early, as `head` does.
      process.stdout.on('error', () => process.exit(1))
      const { checkPeer } = await import('./checkPeer.ts')
      const { systemResolver } = await import('./resolve.ts')
      await withNode(flags, async (node) => {
        const known = await addressOfPeer(node, address)
        if (known !== undefined && !flags.json) console.log(`Known to the node at ${known}\n`)
        const report = await checkPeer(
          {
            clock: systemClock,
            resolver: systemResolver,
            ownNode: () => readOwnNode(node),
            ...(flags.json ? {} : { onStep: (step) => printLines(stepLines(step)) }),
          },
          { ...options, ...(known === undefined ? {} : { target: known }) },
        )
        if (flags.json) printJson(report)
        else printLines(['', ...reportLines(report)])
        process.exitCode = report.ok ? 0 : 1
      })
    })

/** Throws UsageError. */
async function readFlags(target: string, flags: CheckFlags): Promise<CheckOptions> {
  if (flags.chainId !== undefined && flags.network !== undefined) {
    throw new UsageError('--chain-id and --network exclude each other')
  }
  const timeoutMs = durationOf(flags.timeout)
  return {
    target,
    timeoutMs,
    ...(flags.chainId === undefined ? {} : { chainId: BigInt(wholeNumber('--chain-id', flags.chainId)) }),
    ...(flags.network === undefined
      ? {}
      : { chainId: (await findNetwork(flags.network, ownNetworksFolder())).config.l2ChainId }),
    ...(flags.block === undefined ? {} : { blockNumber: Number(wholeNumber('--block', flags.block)) }),
    ...(flags.identity === undefined ? {} : { privateKey: await readKey(flags.identity) }),
  }
}

/** Up to 15 digits: enough for every chain, and exact as a number. */
function wholeNumber(name: string, text: string): string {
  if (!/^\d{1,15}$/.test(text)) throw new UsageError(`${name}: expected a whole number, got "${text}"`)
  return text
}

function durationOf(text: string): number {
  let timeoutMs: number
  try {
    timeoutMs = parseDurationMs(text)
  } catch (error) {
    throw new UsageError(`--timeout: ${describeError(error)}`)
  }
  if (timeoutMs < 1) throw new UsageError('--timeout: expected a duration above 0')
  return timeoutMs
}

async function readKey(path: string): Promise<Uint8Array> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (cause) {
    throw new UsageError(`--identity: cannot read ${path}`, { cause })
  }
  try {
    return parsePrivateKeyHex(text)
  } catch (error) {
    throw new UsageError(`--identity: ${path}: ${describeError(error)}`)
  }
}
