import type { Command } from 'commander'
import { systemClock } from '../../../lib/clock.ts'
import { UsageError } from '../../../lib/errors.ts'
import { runUntilStopped } from '../../shared/program.ts'
import { type NodeOptions, nodeCommand, withNode } from '../nodeCommand.ts'

/** `devium watch`: a full-screen view of a running node. */
export function addWatch(program: Command): void {
  nodeCommand(
    program,
    'watch',
    'Live view of heads, peers, scores and events of a node; keys explain, block and unblock a peer',
  ).action(async (options: NodeOptions) => {
    const { stdin, stdout } = process
    if (stdin.isTTY !== true || stdout.isTTY !== true) {
      throw new UsageError(
        'watch requires a terminal. devium status, devium peers and devium explain print the same data once',
      )
    }
    const { wantsColours } = await import('../../shared/terminal/fullScreen.ts')
    const { watchNode } = await import('./watchNode.ts')
    await runUntilStopped('devium', async ({ signal, fail }) => {
      // The terminal was closed.
      process.once('SIGHUP', () => fail(new UsageError('the terminal was closed')))
      stdout.on('error', () => fail(new UsageError('the terminal was closed')))
      await withNode(options, async (node) => {
        // Fails at once for a wrong address, before the screen opens.
        await node.request('devium_syncStatus', [], { signal })
        const modules = {
          node,
          terminal: stdout,
          keyboard: stdin,
          clock: systemClock,
          isColoured: wantsColours(stdout),
        }
        await watchNode(modules, signal)
      })
    })
  })
}
