import type { Command } from 'commander'
import { formatExplanation } from './explainView.ts'
import { type NodeOptions, nodeCommand, printJson, withNode } from './nodeCommand.ts'
import { formatPeers } from './nodeViews.ts'
import { addCheck } from './p2pCheckCommand.ts'
import { addHealth } from './p2pHealthCommand.ts'

/** Adds one command to `devium p2p`, or to `devium` itself as a short form. */
type AddCommand = (parent: Command) => void

/** `devium p2p …`, and the short forms of those that are used most: `devium peers`, `devium explain` and so on. */
export function addP2pCommands(program: Command): void {
  const group = program
    .command('p2p')
    .description('Peers, why they have their scores, bans and block lists')
    .helpOption('--help', 'Show this help')
  for (const add of COMMANDS) add(group)
  for (const add of SHORT_FORMS) add(program)
}

const addPeers: AddCommand = (parent) =>
  nodeCommand(parent, 'peers', 'Peers with their addresses and scores')
    .option('--all', 'Known peers too, not only connected ones')
    .option('--json', 'Print the raw answer')
    .action(async (options: NodeOptions & { all?: true }) => {
      await withNode(options.rpc, async (node) => {
        const dump = await node.request('deviump2p_peers', [options.all !== true])
        if (options.json) return printJson(dump)
        console.log(formatPeers(dump))
      })
    })

const addExplain: AddCommand = (parent) =>
  nodeCommand(
    parent,
    'explain <peer>',
    'Why a peer has its score: what it is made of, when that changes, bans, and what it did',
  )
    .option('--json', 'Print the raw answers')
    .action(async (peer: string, options: NodeOptions) => {
      await withNode(options.rpc, async (node) => {
        const [score, history] = await Promise.all([
          node.request('deviump2p_peerScore', [peer]),
          node.request('deviump2p_peerHistory', [peer]),
        ])
        if (options.json) return printJson({ score, history })
        console.log(formatExplanation(score, history))
      })
    })

interface PeerAction {
  name: string
  description: string
  method(subject: string): string
}

const addAction =
  ({ name, description, method }: PeerAction): AddCommand =>
  (parent) =>
    nodeCommand(parent, `${name} <peer>`, description).action(async (peer: string, options: NodeOptions) => {
      await withNode(options.rpc, (node) => node.request(method(peer), [peer]))
    })

/** What is blocked is told by its form: subnet, IP address or peer id. */
function blockMethod(verb: 'block' | 'unblock'): (subject: string) => string {
  return (subject) => {
    if (subject.includes('/')) return `deviump2p_${verb}Subnet`
    return /^[\d.]+$|:/.test(subject) ? `deviump2p_${verb}Addr` : `deviump2p_${verb}Peer`
  }
}

const PEER_ACTIONS: readonly PeerAction[] = [
  {
    name: 'block',
    description: 'Refuse a peer id, IP address or subnet and close its connections',
    method: blockMethod('block'),
  },
  {
    name: 'unblock',
    description: 'Take a peer id, IP address or subnet off the block list; lifts a ban',
    method: blockMethod('unblock'),
  },
  { name: 'protect', description: 'Keep a peer when connections are trimmed', method: () => 'deviump2p_protectPeer' },
  { name: 'unprotect', description: 'Let a peer be trimmed again', method: () => 'deviump2p_unprotectPeer' },
  {
    name: 'connect',
    description: 'Dial a multiaddress that ends in /p2p/<peer id>',
    method: () => 'deviump2p_connectPeer',
  },
  {
    name: 'disconnect',
    description: 'Close the connections of a peer and forget it',
    method: () => 'deviump2p_disconnectPeer',
  },
]

/** In the order of the help text: first what is looked at, then what is changed. */
const COMMANDS: readonly AddCommand[] = [addPeers, addExplain, addHealth, addCheck, ...PEER_ACTIONS.map(addAction)]
const SHORT_FORMS: readonly AddCommand[] = [addPeers, addExplain, ...PEER_ACTIONS.map(addAction)]
