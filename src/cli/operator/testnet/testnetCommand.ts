import { resolve } from 'node:path'
import type { Command } from 'commander'
import { UsageError } from '../../../lib/errors.ts'
import { runUntilStopped } from '../../shared/program.ts'
import { plainText } from '../../shared/table.ts'
import { printLines } from '../../shared/terminal/printLines.ts'
import { printJson } from '../printJson.ts'
import { TESTNET_COMMANDS } from './commandTable.ts'

interface TestnetCommandOptions {
  dir: string
  json?: true
}

const HELP = `The commands apply to the testnet that "npm start" runs in --dir. Its live view accepts the same commands after ":".`

export function addTestnetCommands(program: Command): void {
  const group = program
    .command('testnet')
    .description('Cause and repair faults in a running testnet, and save its state')
    .addHelpText('after', `\n${HELP}`)
  addJoin(group)
  for (const { name, words, description, count } of TESTNET_COMMANDS) {
    const own = group
      .command(name)
      .description(description)
      .usage(`[options] ${words}`)
      .option('--dir <path>', "The testnet's directory", 'devnet')
      .option('--json', 'Print the raw answer')
    // The argument may be negative, such as an offset behind the machine's clock, and must not be parsed as a flag.
    if (name === 'clock') own.allowUnknownOption()
    // The runner validates the words, for every client.
    if (count.most > 0) own.argument(count.least > 0 ? '<words...>' : '[words...]', words)
    own.action(async (given: string[] | TestnetCommandOptions) => {
      const { requestCommand } = await import('./controlClient.ts')
      const options = own.opts<TestnetCommandOptions>()
      const result = await requestCommand(resolve(options.dir), [name, ...(Array.isArray(given) ? given : [])])
      if (options.json) printJson(result)
      else printLines([plainText(result.did), plainText(result.lookAt)])
    })
  }
}

/** The only command that needs no testnet on this machine. */
function addJoin(group: Command): void {
  const own = group
    .command('join')
    .argument('<url>', 'Address that the testnet shows as "one more node"')
    .description('Run a node that joins a testnet on another machine (npm start -- --host 0.0.0.0)')
    .option('--dir <path>', "Directory of the node's data; a later start continues with it", 'joined')
    .option('--base-port <port>', 'First port of the node; 0 = any free ports', '9700')
  own.action(async (url: string) => {
    const { joinTestnet } = await import('../../../../testnet/join/joinTestnet.ts')
    const { dir, basePort } = own.opts<{ dir: string; basePort: string }>()
    const options = { url, dir: resolve(dir), basePort: parsePort(basePort) }
    await runUntilStopped('devium', (context) =>
      joinTestnet(options, { ...context, print: (line) => printLines([line]) }),
    )
  })
}

function parsePort(text: string): number {
  const port = Number(text)
  if (!/^\d+$/.test(text) || port > 65_535) throw new UsageError(`--base-port: expected 0 to 65535, got "${text}"`)
  return port
}
