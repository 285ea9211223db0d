import { resolve } from 'node:path'
import type { Command } from 'commander'
import { plainText } from '../../shared/table.ts'
import { printLines } from '../../shared/terminal/printLines.ts'
import { printJson } from '../printJson.ts'
import { TESTNET_COMMANDS } from './commandTable.ts'

interface TestnetCommandOptions {
  dir: string
  json?: true
}

const HELP = `The testnet is the one that "npm start" runs in --dir. Its live view takes the same commands after ":".`

/** `devium testnet …`: commands for a running testnet. */
export function addTestnetCommands(program: Command): void {
  const group = program
    .command('testnet')
    .description('Hurt and heal a running testnet, and keep its state')
    .helpOption('--help', 'Show this help')
    .addHelpText('after', `\n${HELP}`)
  for (const { name, words, description, count } of TESTNET_COMMANDS) {
    const own = group
      .command(name)
      .description(description)
      .usage(`[options] ${words}`)
      .helpOption('--help', 'Show this help')
      .option('--dir <path>', "The testnet's directory", 'devnet')
      .option('--json', 'Print the raw answer')
    // Not a flag: what is behind the machine's clock.
    if (name === 'clock') own.allowUnknownOption()
    // The runner says what is wrong with them, to whoever asks it.
    if (count.most > 0) own.argument(count.least > 0 ? '<words...>' : '[words...]', words)
    own.action(async (given: string[] | TestnetCommandOptions) => {
      const { askTestnet } = await import('./controlClient.ts')
      const options = own.opts<TestnetCommandOptions>()
      const result = await askTestnet(resolve(options.dir), [name, ...(Array.isArray(given) ? given : [])])
      if (options.json) printJson(result)
      else printLines([plainText(result.did), plainText(result.lookAt)])
    })
  }
}
