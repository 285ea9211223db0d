import type { Command } from 'commander'
import { asObject } from '../../../lib/jsonReader.ts'
import type { NodeClient } from '../../../rpc/client/index.ts'
import { type LineWidth, plainText, terminalWidth } from '../../shared/table.ts'
import { askYes } from '../../shared/terminal/askYes.ts'
import { printLines } from '../../shared/terminal/printLines.ts'
import { ifServed, type NodeOptions, nodeCommand, RPC_HELP, withNode } from '../nodeCommand.ts'
import { printJson } from '../printJson.ts'
import { healthSchema, verdictLines, verdictOptions } from '../status/verdictView.ts'
import { addBlocks } from './blocksCommand.ts'
import { addCheck } from './check/checkCommand.ts'
import { formatExplanation, formatScores } from './explainView.ts'
import { formatHealth } from './healthView.ts'
import { formatHistories, formatHistory } from './historyView.ts'
import { PEER_ACTIONS, type PeerAction } from './peerActions.ts'
import { type NameOf, nameOfPeers, requestPeerNames } from './peerNames.ts'
import { formatBans, formatPeers, formatStats } from './peersView.ts'
import { resolvePeer } from './resolvePeer.ts'

/** Adds one command to `devium p2p`, or to `devium` itself as a short form. */
type AddCommand = (parent: Command) => void

/** `devium p2p …`, and the short forms: `devium peers`, `devium explain` and so on. */
export function addP2pCommands(program: Command): void {
  const group = program
    .command('p2p')
    .description('Peers: connections, scores and their causes, bans, block lists')
    .addHelpText('after', `\nA <peer> is a peer id, or the beginning or end of a peer id.\n${RPC_HELP}`)
  for (const add of COMMANDS) add(group)
  program.commandsGroup('Short forms of devium p2p …:')
  for (const add of COMMANDS) add(program)
  program.commandsGroup('Commands:')
}

/** A command that formats an answer of the node. `--json` prints the answer unchanged. */
interface PeerView<T> {
  name: string
  /** Takes an optional peer. */
  argument?: '[peer]'
  description: string
  request(node: NodeClient, peerId: string | undefined): Promise<T>
  format(answer: T, width: LineWidth, nameOf: NameOf, peerId: string | undefined): string
}

function addView<T>({ name, argument, description, request, format }: PeerView<T>): AddCommand {
  const show = async (given: string | undefined, options: NodeOptions): Promise<void> => {
    await withNode(options, async (node) => {
      const peerId = given === undefined ? undefined : await resolvePeer(node, given)
      const answer = await request(node, peerId)
      if (options.json) printJson(answer)
      else console.log(format(answer, terminalWidth(), nameOfPeers(await requestPeerNames(node)), peerId))
    })
  }
  return (parent) => {
    const command = nodeCommand(parent, name, description).option('--json', 'Print the raw answer')
    if (argument === undefined) command.action((options: NodeOptions) => show(undefined, options))
    else {
      command.argument(argument, 'Peer id, or the beginning or end of a peer id')
      command.action((peer: string | undefined, options: NodeOptions) => show(peer, options))
    }
  }
}

const addHealth: AddCommand = (parent) =>
  nodeCommand(parent, 'health', 'Show the health of the node and of gossip, with causes and remedies')
    .option('--json', 'Print the raw answer')
    .action(async (options: NodeOptions) => {
      await withNode(options, async (node) => {
        const gossip = await node.request('deviump2p_health', [])
        if (options.json) return printJson(gossip)
        const verdict = healthSchema.parse(await node.request('devium_health', []))
        printLines([...verdictLines(verdict, verdictOptions(options)), ''])
        console.log(formatHealth(gossip, Date.now(), terminalWidth()))
      })
    })

const addPeers: AddCommand = (parent) =>
  nodeCommand(parent, 'peers', 'List peers with addresses and scores')
    .option('--all', 'Include known peers that are not connected')
    .option('--json', 'Print the raw answer')
    .action(async (options: NodeOptions & { all?: true }) => {
      await withNode(options, async (node) => {
        const dump = await node.request('deviump2p_peers', [options.all !== true])
        if (options.json) return printJson(dump)
        const [self, standings, names] = await Promise.all([
          options.all ? ifServed(node, 'deviump2p_self', []) : undefined,
          ifServed(node, 'deviump2p_standings', []),
          requestPeerNames(node),
        ])
        console.log(formatPeers(dump, terminalWidth(), { self, standings, names }))
      })
    })

const addStats = addView({
  name: 'stats',
  description: 'Count peers: known, connected, blocked, and per topic',
  // op-node's answer has two more topics.
  request: async (node) => ({
    ...asObject(await node.request('opp2p_peerStats', []), 'opp2p_peerStats'),
    ...asObject(await node.request('deviump2p_peerStats', []), 'deviump2p_peerStats'),
  }),
  format: formatStats,
})

const addExplain = addView({
  name: 'explain',
  argument: '[peer]',
  description:
    'Explain the score of a peer: causes, consequences, advice. Without a peer: the main reason of each score',
  request: async (node, peerId) =>
    peerId === undefined
      ? node.request('deviump2p_peerScore', [])
      : {
          score: await node.request('deviump2p_peerScore', [peerId]),
          history: await node.request('deviump2p_peerHistory', [peerId]),
        },
  format: (answer, width, nameOf, peerId) =>
    peerId === undefined ? formatScores(answer, width, nameOf) : formatExplanation(answer, width, nameOf),
})

const addHistory = addView({
  name: 'history',
  argument: '[peer]',
  description: 'Show the history of a peer. Without a peer: the latest events of all peers',
  request: (node, peerId) => node.request('deviump2p_peerHistory', peerId === undefined ? [] : [peerId]),
  format: (answer, width, nameOf, peerId) =>
    peerId === undefined ? formatHistories(answer, width, nameOf) : formatHistory(answer, width),
})

const addBans = addView({
  name: 'bans',
  description: 'List active bans with end and reason',
  request: (node) => node.request('deviump2p_bans', []),
  format: formatBans,
})

const addAction =
  ({ name, argument, description, question, takesReason, run }: PeerAction): AddCommand =>
  (parent) => {
    const command = nodeCommand(parent, `${name} ${argument}`, description)
    if (question !== undefined) command.option('--yes', 'Skip the confirmation of a block that affects many peers')
    if (takesReason) command.option('--reason <text>', 'Reason, stored with the entry in the block list')
    command.action(async (subject: string, options: NodeOptions & { yes?: true; reason?: string }) => {
      await withNode(options, async (node) => {
        const prompt = await question?.(node, subject)
        if (prompt !== undefined && options.yes !== true) await askYes(prompt)
        console.log(plainText(await run(node, subject, options.reason)))
      })
    })
  }

const ACTIONS = PEER_ACTIONS.map(addAction)
/** In the order of the help text: first queries, then changes. */
const COMMANDS: readonly AddCommand[] = [
  addHealth,
  addPeers,
  addStats,
  addExplain,
  addHistory,
  addBans,
  addBlocks,
  addCheck,
  ...ACTIONS,
]
