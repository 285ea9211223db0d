import type { Command } from 'commander'
import { UsageError } from '../../../lib/errors.ts'
import { printJson } from '../printJson.ts'

interface NameOption {
  network?: string
}

interface AddOptions {
  name?: string
  l1ChainId?: string
  replace?: true
}

/** `networks` of `devium--batcher` (as in op-node) and of `devium`: the built-in registry and the operator's own networks. */
export function addNetworksCommands(program: Command): void {
  const networks = program
    .command('networks')
    .description('Manage the networks for --network: built-in and added networks')

  networks
    .command('list')
    .description('List all networks with chain id, L1, block time and newest active fork')
    .option('--json', 'Print JSON')
    .action(async (options: { json?: true }) => {
      const { findNetwork, networkNames, ownNetworkNames, ownNetworksFolder } = await import(
        '../../../rollup/networks/index.ts'
      )
      const { formatNetworks, networkRow } = await import('./networksView.ts')
      const { terminalWidth } = await import('../../shared/table.ts')
      const folder = ownNetworksFolder()
      const nowSeconds = Math.floor(Date.now() / 1000)
      const rows = []
      for (const name of [...(await ownNetworkNames(folder)), ...networkNames()]) {
        try {
          rows.push(networkRow(await findNetwork(name, folder), nowSeconds))
        } catch (error) {
          if (!(error instanceof UsageError)) throw error
          // One damaged file must not hide the others.
          process.stderr.write(`${program.name()}: ${error.message}\n`)
          process.exitCode = 1
        }
      }
      if (options.json) printJson(rows)
      else console.log(formatNetworks(rows, terminalWidth()))
    })

  networks
    .command('add <file>')
    .description('Add a network: a rollup.json, or a chain of the superchain registry (TOML or JSON)')
    .option('--name <name>', "Name of the network (default: the file's)")
    .option('--l1-chain-id <id>', 'Chain id of its L1, if the file does not contain it (registry)')
    .option('--replace', 'Replace the settings of a network that was added before')
    .addHelpText('after', ADD_EXAMPLES)
    .action(async (path: string, options: AddOptions) => {
      const { addNetwork, networkOfChain, ownNetworksFolder, readNetworkFile } = await import(
        '../../../rollup/networks/index.ts'
      )
      const { refuseAltDa } = await import('../../node/chainChecks.ts')
      const { config, usesAltDa, unknown, proposedName } = await readNetworkFile(path, chainIdOf(options.l1ChainId))
      const { describeUnknownMember } = await import('../../../rollup/protocol/index.ts')
      for (const member of unknown) {
        process.stderr.write(`${program.name()}: ${path}: ${describeUnknownMember(member, config.unknownForks)}\n`)
      }
      refuseAltDa({ config, usesAltDa, source: path })
      const name = options.name ?? proposedName
      const outcome = await addNetwork(ownNetworksFolder(), name, config, { replace: options.replace === true })
      const done = { added: 'Added', replaced: 'Replaced', same: 'Already added:' }[outcome]
      console.log(`${done} ${name}: chain ${config.l2ChainId} on L1 ${config.l1ChainId}. Use it with --network=${name}`)
      const builtIn = networkOfChain(config.l2ChainId)
      if (builtIn !== undefined) console.log(`The built-in network ${builtIn} has the same chain id.`)
    })

  networks
    .command('remove <name>')
    .description('Remove a network that was added')
    .action(async (name: string) => {
      const { ownNetworksFolder, removeNetwork } = await import('../../../rollup/networks/index.ts')
      await removeNetwork(ownNetworksFolder(), name)
      console.log(`Removed ${name}`)
    })

  networks
    .command('dump-rollup-config')
    .description("Print a network's rollup config as JSON")
    .option('--network <name>', 'Network, built in or added')
    .action(async (options: NameOption, command: Command) => {
      // Before the sub-command, the program's own flag of the same name takes the value.
      const network = options.network ?? command.optsWithGlobals<NameOption>().network
      if (network === undefined) throw new UsageError('--network is required: the name of the network')
      const { dumpOf, findNetwork, ownNetworksFolder } = await import('../../../rollup/networks/index.ts')
      const { config } = await findNetwork(network, ownNetworksFolder())
      process.stdout.write(`${JSON.stringify(dumpOf(config), null, 2)}\n`)
    })
}

const ADD_EXAMPLES = `
Examples:
  devium--batcher networks add rollup.json --name my-chain
  devium--batcher networks add superchain/configs/sepolia/op.toml --name op-sepolia-copy
Networks are stored in DEVIUM_DATA_DIR, or the system's folder for user data.`

function chainIdOf(text: string | undefined): bigint | undefined {
  if (text === undefined) return undefined
  if (!/^[1-9]\d{0,30}$/.test(text)) throw new UsageError(`--l1-chain-id: expected a chain id, got "${text}"`)
  return BigInt(text)
}
