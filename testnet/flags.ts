import { isIPv4 } from 'node:net'
import { resolve } from 'node:path'
import { type FlagValues, flag, flagGroup } from '../src/cli/shared/flags.ts'
import { UsageError } from '../src/lib/errors.ts'
import { bootnodesOf } from '../src/rollup/networks/bootnodes.ts'
import { DATA_AVAILABILITY } from './chainParameters.ts'
import { type ClientChoice, parseClients } from './clients/clients.ts'
import {
  DEFAULT_FORK,
  type ForkActivation,
  parseFork,
  parseForkActivations,
  TESTNET_FORKS,
  type TestnetFork,
} from './forks.ts'
import {
  checkL1Forks,
  type L1Client,
  type L1ForkActivation,
  parseL1Client,
  parseL1ForkActivations,
} from './l1/l1Client.ts'
import { parseTopology, type Topology } from './topology.ts'

/** One machine does not run more nodes. */
const MAX_NODES = 100

function parseDir(text: string): string {
  if (text === '') throw new UsageError('expected the path of a directory')
  return resolve(text)
}

function parseHost(text: string): string {
  // From 224 on, addresses are multicast or reserved.
  if (!isIPv4(text) || Number.parseInt(text, 10) >= 224)
    throw new UsageError('expected an IPv4 address of this machine, or 0.0.0.0')
  return text
}

export const testnetFlags = {
  ...flagGroup('Testnet', {
    nodes: flag.integer(3, 'Nodes, the first of which is the sequencer', { min: 1, max: MAX_NODES }),
    'block-time': flag.integer(1, 'Seconds between L2 blocks', { min: 1, max: 600 }),
    'l1-block-time': flag.integer(2, 'Seconds between L1 blocks', { min: 1, max: 600 }),
    'chain-id': flag.integer(901, 'L2 chain id', { min: 1, max: 2 ** 32 - 1 }),
    'l1-chain-id': flag.integer(900, 'L1 chain id', { min: 1, max: 2 ** 32 - 1 }),
    fork: {
      ...flag.choice<TestnetFork>(
        TESTNET_FORKS,
        DEFAULT_FORK,
        'Fork that the chain has from its genesis block on; with --fork-at, the one before its first',
      ),
      parse: parseFork,
    },
    'fork-at': flag.custom<ForkActivation[]>(
      '<fork:seconds,…>',
      parseForkActivations,
      [],
      'Forks to activate while it runs, each so many seconds after the start',
      { repeatable: true },
    ),
    'upgrade-bundle': flag.optional(
      '<file>',
      "File with Lagoon's published upgrade transactions; needed where Lagoon is activated while the chain runs",
    ),
    'l1-client': flag.custom<L1Client>(
      '<anvil|geth=path>',
      parseL1Client,
      'anvil',
      'The L1: anvil, or the go-ethereum (1.17.10 or newer) at a path, driven by a consensus client of the runner',
    ),
    'l1-fork-at': flag.custom<L1ForkActivation[]>(
      '<amsterdam:seconds>',
      parseL1ForkActivations,
      [],
      'Forks of an L1 that is go-ethereum, each so many seconds after the start',
      { repeatable: true },
    ),
    client: flag.custom<ClientChoice[]>(
      '<NODE=CLIENT:PATH,…>',
      parseClients,
      [],
      'Programs of others for chosen nodes: op-node, kona, op-geth or op-reth, and its path',
      { repeatable: true },
    ),
    da: flag.choice(DATA_AVAILABILITY, 'calldata', 'Where the batch submitter posts; auto: wherever it costs less'),
    topology: flag.custom<Topology>(
      '<full|line|star|random:K>',
      parseTopology,
      undefined,
      'Which nodes dial which: full, line, star, or random:K (each dials K earlier ones), and nobody else. By default a node dials the sequencer and two more, and finds the others by discovery',
    ),
    scenario: flag.list(
      'Run these scenarios, one after the other, on a new testnet, and end: exit code 1 where one fails (docs/testnet.md names them; a file may hold another)',
      { placeholder: '<name|file,…>' },
    ),
    'fail-fast': flag.boolean(
      'Stop everything, with exit code 1, when a program ends by itself. Without this flag that is so where nobody can press a key to start it again: with --json, --plain, or without a terminal',
    ),
  }),
  ...flagGroup('Data', {
    dir: flag.custom(
      '<path>',
      parseDir,
      'devnet',
      'Where everything is kept; a second start goes on with the same chain',
    ),
    reset: flag.boolean('Delete the chain kept in --dir and begin a new one'),
  }),
  ...flagGroup('Network', {
    'base-port': flag.port(9500, 'First port: L1, then the batch submitter, and ten for each node; 0 finds free ones'),
    host: flag.custom('<ip>', parseHost, '127.0.0.1', 'Address to listen on; 0.0.0.0 lets other machines join'),
  }),
  ...flagGroup('Output', {
    json: flag.boolean('Print one JSON object a line'),
    plain: flag.boolean('Print plain lines even on a terminal'),
  }),
}

export const testnetProgram = { name: 'devium testnet', envPrefixes: ['DEVIUM_TESTNET'], flags: testnetFlags }

export type TestnetOptions = FlagValues<typeof testnetFlags>

/** Throws UsageError if values contradict each other. */
export function checkOptions(options: TestnetOptions): void {
  if (options.chainId === options.l1ChainId) {
    throw new UsageError(`--chain-id and --l1-chain-id must differ, both are ${options.chainId}`)
  }
  if (bootnodesOf(BigInt(options.l1ChainId)).length > 0) {
    throw new UsageError(
      `--l1-chain-id ${options.l1ChainId} is that of a public network, whose nodes the sequencer would look for: choose another`,
    )
  }
  checkL1Forks(options.l1Client, options.l1ForkAt)
  if (options.json && options.plain) throw new UsageError('--json and --plain exclude each other')
}
