import { readFileSync, writeFileSync } from 'node:fs'
import type { Command } from 'commander'
import { z } from 'zod'
import { describeError, UsageError } from '../../../lib/errors.ts'
import { countOf } from '../../../lib/phrases.ts'
import type { NodeClient } from '../../../rpc/client/index.ts'
import { askYes } from '../../shared/terminal/askYes.ts'
import { type NodeOptions, nodeCommand, withNode } from '../nodeCommand.ts'
import { printJson } from '../printJson.ts'
import { questionBeforeBlock } from './blockGuard.ts'
import { askPeerNames } from './peerNames.ts'
import { type BlockLists, blocksSchema, formatBlocks } from './peersView.ts'

type Asked = Pick<NodeClient, 'request'>

/** More than anybody blocks by hand. */
const MAX_ENTRIES = 10_000
const texts = z.array(z.string().min(1).max(200)).max(MAX_ENTRIES)
/** The lists in a file, as `--export` and the page write them. */
const fileSchema = z.strictObject({ peers: texts, addresses: texts, subnets: texts })

/** `devium p2p blocks`, which also writes the lists to a file and adds those of a file. */
export function addBlocks(parent: Command): void {
  nodeCommand(parent, 'blocks', 'What the operator has blocked: peers, IP addresses and subnets')
    .option('--export <file>', 'Write the lists to a file')
    .option('--import <file>', 'Block what the lists of a file name, too')
    .option('--yes', 'Do not ask before a block that reaches far')
    .option('--json', 'Print the raw answer')
    .action(async (options: NodeOptions & { export?: string; import?: string; yes?: true }) => {
      const given = options.import === undefined ? undefined : readLists(options.import)
      await withNode(options, async (node) => {
        if (given !== undefined) {
          const questions = options.yes === true ? '' : await questionsBefore(node, given)
          if (questions !== '') await askYes(questions)
          await importLists(node, given)
          console.log(`${describeLists(given)} of ${options.import} are blocked`)
        }
        const lists = await askLists(node)
        if (options.export !== undefined) {
          writeLists(options.export, lists)
          console.log(`${describeLists(lists)} are written to ${options.export}`)
        } else if (options.json) printJson(lists)
        else if (given === undefined) console.log(formatBlocks(lists, await askPeerNames(node)))
      })
    })
}

async function askLists(node: Asked): Promise<BlockLists> {
  return blocksSchema.parse({
    peers: await node.request('deviump2p_listBlockedPeers', []),
    addresses: await node.request('deviump2p_listBlockedAddrs', []),
    subnets: await node.request('deviump2p_listBlockedSubnets', []),
  })
}

/** Throws UsageError. */
function readLists(file: string): BlockLists {
  let json: unknown
  try {
    json = JSON.parse(readFileSync(file, 'utf8'))
  } catch (cause) {
    throw new UsageError(`--import: cannot read ${file}: ${describeError(cause)}`, { cause })
  }
  const { data, error } = fileSchema.safeParse(json)
  if (error === undefined) return data
  throw new UsageError(`--import: ${file} holds no block lists: ${z.prettifyError(error).replaceAll(/\s+/g, ' ')}`)
}

function writeLists(file: string, lists: BlockLists): void {
  try {
    writeFileSync(file, `${JSON.stringify(lists, null, 2)}\n`)
  } catch (cause) {
    throw new UsageError(`--export: cannot write ${file}: ${describeError(cause)}`, { cause })
  }
}

/** Blocks one after the other; the first that the node refuses ends it. */
async function importLists(node: Asked, { peers, addresses, subnets }: BlockLists): Promise<void> {
  for (const peer of peers) await node.request('deviump2p_blockPeer', [peer])
  for (const address of addresses) await node.request('deviump2p_blockAddr', [address])
  for (const subnet of subnets) await node.request('deviump2p_blockSubnet', [subnet])
}

async function questionsBefore(node: NodeClient, { addresses, subnets }: BlockLists): Promise<string> {
  const questions: string[] = []
  for (const subject of [...addresses, ...subnets]) {
    const question = await questionBeforeBlock(node, subject)
    if (question !== undefined) questions.push(`${subject}: ${question}`)
  }
  return questions.join('\n')
}

function describeLists({ peers, addresses, subnets }: BlockLists): string {
  const addressCount = `${addresses.length} ${addresses.length === 1 ? 'address' : 'addresses'}`
  return `${countOf(peers.length, 'peer')}, ${addressCount} and ${countOf(subnets.length, 'subnet')}`
}
