import { HOSTILE_KINDS } from './hostileKinds.ts'

/** A command of a running testnet: from `devium testnet`, its live view, or its standard input. */
export interface TestnetCommandSpec {
  name: string
  /** The words of the usage line. */
  words: string
  /** The number of accepted words. */
  count: { least: number; most: number }
  description: string
}

const PROGRAM = 'PROGRAM is NODE, NODE/geth, NODE/node, l1 or batcher'
const MANY = 200
const NONE = { least: 0, most: 0 }
const ONE = { least: 1, most: 1 }

/** The only list of testnet commands. `testnet/commands` implements them. */
export const TESTNET_COMMANDS: readonly TestnetCommandSpec[] = [
  {
    ...{ name: 'kill', words: 'PROGRAM', count: ONE },
    description: `Kill a program, as in a crash; ${PROGRAM}`,
  },
  { name: 'stop', words: 'PROGRAM', count: ONE, description: 'Stop a program, and wait for its end' },
  {
    ...{ name: 'pause', words: 'PROGRAM', count: ONE },
    description: 'Freeze a program: it answers no requests, but its connections stay open',
  },
  { name: 'start', words: 'PROGRAM', count: ONE, description: 'Start a program that ended, or continue a paused one' },
  {
    ...{ name: 'partition', words: "'NODE,NODE|NODE,…'", count: { least: 1, most: MANY } },
    description: 'Cut the peer links between groups of nodes; the nodes without a group form another group',
  },
  {
    ...{ name: 'link', words: 'NODE-NODE|all SETTINGS', count: { least: 2, most: 4 } },
    description:
      'Make a peer link slow or lossy: delay=200ms (each way), loss=5%, rate=100kB (a second); off restores it',
  },
  { name: 'heal', words: '', count: NONE, description: 'Restore all peer links' },
  { name: 'reorg', words: 'N', count: ONE, description: "Replace L1's last N blocks by empty blocks" },
  {
    ...{ name: 'l1', words: 'stop|start|fees xN', count: { least: 1, most: 2 } },
    description: 'Stop L1 blocks, start them again, or multiply the next base fee by N',
  },
  {
    ...{ name: 'blobs', words: 'on|off|lie', count: ONE },
    description: 'Make the beacon API serve blobs, errors, or wrong blobs',
  },
  {
    ...{ name: 'clock', words: 'PROGRAM +30s|-30s|0', count: { least: 2, most: 2 } },
    description: "Shift the clock of a node's programs or of the batcher, until their next start",
  },
  {
    ...{ name: 'load', words: 'N [transfers|data]|off', count: { least: 1, most: 2 } },
    description: 'Send N transactions a second (with data: 4 kB each); off ends the load',
  },
  {
    ...{ name: 'hostile', words: 'KIND [NODE]|off', count: { least: 1, most: 2 } },
    description: `Attack a node, by default the sequencer, with a hostile peer: ${HOSTILE_KINDS.join(', ')}; off ends all attacks`,
  },
  {
    ...{ name: 'sequencer', words: 'move NODE', count: { least: 2, most: 2 } },
    description: 'Make another node the sequencer; this restarts both nodes and the batcher',
  },
  { name: 'add-node', words: '', count: NONE, description: 'Start one more verifier' },
  { name: 'remove-node', words: 'NODE', count: ONE, description: 'Remove a verifier; its data is kept' },
  {
    ...{ name: 'snapshot', words: 'NAME', count: ONE },
    description: 'Stop all programs, copy the data of L1 and of all nodes, and start them again',
  },
  {
    name: 'restore',
    words: 'NAME',
    count: ONE,
    description: 'Restore the data of a snapshot, and continue from there',
  },
  {
    ...{ name: 'export', words: '', count: NONE },
    description: 'Write the network as files for containers: its chain, a compose file, and Kubernetes manifests',
  },
]

/** The result of a command. */
export interface CommandResult {
  command: string
  /** A sentence about the change. */
  did: string
  /** A sentence about where the effect is visible. */
  lookAt: string
}

/** The address of the runner, in a file of the testnet's directory that only its owner can read. */
export const CONTROL_FILE = 'control.json'
/** Params: the words of a command. */
export const COMMAND_METHOD = 'testnet_command'
/** No params; returns the table above. */
export const COMMANDS_METHOD = 'testnet_commands'
