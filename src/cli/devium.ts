import { Command } from 'commander'
import { UsageError } from '../lib/errors.ts'
import { createRpcClient, type RpcClient } from '../lib/jsonRpc/client.ts'
import { JsonRpcError, type JsonValue, RPC_METHOD_NOT_FOUND } from '../lib/jsonRpc/types.ts'
import { formatExplanation } from './explainView.ts'
import { formatPeers, formatStatus } from './nodeViews.ts'
import { runProgram } from './program.ts'
import { VERSION } from './version.ts'

const DEFAULT_RPC = 'http://127.0.0.1:9545'

interface Options {
  rpc: string
  json?: true
}

/** The operator's tool: asks a running rollup node and shows the answer to a person. */
function createDeviumCommand(): Command {
  const program = new Command('devium')
    .description('Look at running devium nodes, and manage their peers')
    .version(VERSION, '--version', 'Print the version')
    .helpOption('--help', 'Show this help')
    .configureOutput({ outputError: (text, write) => write(`devium: ${text.replace(/^error: /, '')}`) })

  const nodeCommand = (signature: string, description: string) =>
    program
      .command(signature)
      .description(description)
      .helpOption('--help', 'Show this help')
      .option('--rpc <url>', "The rollup node's RPC address", process.env.DEVIUM_RPC ?? DEFAULT_RPC)

  nodeCommand('status', 'Heads of both layers, peers, and how far derivation has come')
    .option('--json', 'Print the raw answer')
    .action(async (options: Options) => {
      await withNode(options.rpc, async (node) => {
        const status = await node.request('devium_syncStatus', [])
        if (options.json) return print(status)
        const [version, peers] = await Promise.all([
          node.request('devium_version', []),
          ifServed(node, 'deviump2p_peerStats', []),
        ])
        console.log(formatStatus(status, String(version), peers))
      })
    })

  nodeCommand('peers', 'Peers with their addresses and scores')
    .option('--all', 'Known peers too, not only connected ones')
    .option('--json', 'Print the raw answer')
    .action(async (options: Options & { all?: true }) => {
      await withNode(options.rpc, async (node) => {
        const dump = await node.request('deviump2p_peers', [options.all !== true])
        if (options.json) return print(dump)
        console.log(formatPeers(dump))
      })
    })

  nodeCommand(
    'explain <peer>',
    'Why a peer has its score: what it is made of, when that changes, bans, and what it did',
  )
    .option('--json', 'Print the raw answers')
    .action(async (peer: string, options: Options) => {
      await withNode(options.rpc, async (node) => {
        const [score, history] = await Promise.all([
          node.request('deviump2p_peerScore', [peer]),
          node.request('deviump2p_peerHistory', [peer]),
        ])
        if (options.json) return print({ score, history })
        console.log(formatExplanation(score, history))
      })
    })

  for (const { name, description, method } of PEER_ACTIONS) {
    nodeCommand(`${name} <peer>`, description).action(async (peer: string, options: Options) => {
      await withNode(options.rpc, (node) => node.request(method(peer), [peer]))
    })
  }

  nodeCommand('rpc <method> [params...]', 'Call any method; parameters are JSON, or text where they are not').action(
    async (method: string, params: string[], options: Options) => {
      await withNode(options.rpc, async (node) => print(await node.request(method, params.map(jsonOrText))))
    },
  )

  return program
}

/** What is blocked is told by its form: subnet, IP address or peer id. */
function blockMethod(verb: 'block' | 'unblock'): (subject: string) => string {
  return (subject) => {
    if (subject.includes('/')) return `deviump2p_${verb}Subnet`
    return /^[\d.]+$|:/.test(subject) ? `deviump2p_${verb}Addr` : `deviump2p_${verb}Peer`
  }
}

const PEER_ACTIONS = [
  {
    name: 'block',
    description: 'Refuse a peer id, IP address or subnet and close its connections',
    method: blockMethod('block'),
  },
  {
    name: 'unblock',
    description: 'Take a peer id, IP address or subnet off the block list',
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

async function withNode(url: string, use: (node: RpcClient) => Promise<unknown>): Promise<void> {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new UsageError(`--rpc: expected an http address, got "${url}"`)
  const node = createRpcClient({ url })
  try {
    await use(node)
  } finally {
    await node.close()
  }
}

/** Undefined when the server does not have the method (p2p disabled). */
async function ifServed(node: RpcClient, method: string, params: unknown[]): Promise<unknown> {
  try {
    return await node.request(method, params)
  } catch (error) {
    if (error instanceof JsonRpcError && error.rpcCode === RPC_METHOD_NOT_FOUND) return undefined
    throw error
  }
}

function jsonOrText(text: string): JsonValue {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function print(value: unknown): void {
  console.log(JSON.stringify(value, null, 2))
}

await runProgram(createDeviumCommand())
