import type { Command } from 'commander'
import { nodeHealth } from '../../rpc/schemas/health.ts'
import { plainText } from '../shared/table.ts'
import { printLines } from '../shared/terminal/printLines.ts'
import { type NodeOptions, nodeCommand, RPC_HELP, withNode } from './nodeCommand.ts'
import { printJson } from './printJson.ts'
import { healthSchema, verdictLines, verdictOptions } from './status/verdictView.ts'

/** The node answers after it has sealed the last block. */
const STOP_TIMEOUT_MS = 60_000

/** `devium sequencer …`: starts and stops the sequencer of a running rollup node, whose admin methods must be enabled. */
export function addSequencerCommands(program: Command): void {
  const group = program
    .command('sequencer')
    .description('Show, start and stop the sequencer of a rollup node')
    .addHelpText('after', `\n${RPC_HELP}`)
  nodeCommand(group, 'status', 'Show whether this node builds blocks, its health, and its unsafe head')
    .option('--json', 'Print the raw answers')
    .action(async (options: NodeOptions) => {
      await withNode(options, async (node) => {
        const answer = await node.request('devium_health', [])
        const { unsafe_l2: head } = await node.request('devium_syncStatus', [])
        const { active, conductor } = nodeHealth.pick({ sequencer: true }).parse(answer).sequencer ?? {
          active: false,
          conductor: false,
        }
        if (options.json) return printJson({ active, conductor, head, health: answer })
        const health = healthSchema.parse(answer)
        const isVerifier = health.node.role === 'verifier'
        printLines([
          ...verdictLines(health, verdictOptions(options)),
          '',
          ...(isVerifier ? ['The node is a verifier: it runs without --sequencer.enabled.'] : []),
          ...(conductor ? ['An op-conductor decides when this node builds blocks.'] : []),
          plainText(`Unsafe head ${head.number} ${head.hash}`),
        ])
      })
    })
  nodeCommand(
    group,
    'start [head]',
    'Start building blocks. If HEAD is given, the unsafe head must have this hash',
  ).action(async (head: string | undefined, options: NodeOptions) => {
    await withNode(options, async (node) => {
      // The node itself refuses an invalid hash, with its own message.
      await node.transport.request('admin_startSequencer', head === undefined ? [] : [head])
      console.log('the sequencer is started')
    })
  })
  nodeCommand(
    group,
    'stop',
    'Stop building blocks, and print the hash of the last block for the start of another sequencer',
  ).action(async (options: NodeOptions) => {
    await withNode(options, async (node) => {
      console.log(await node.request('admin_stopSequencer', [], { timeoutMs: STOP_TIMEOUT_MS }))
    })
  })
}
