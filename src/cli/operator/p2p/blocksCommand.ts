import { readFileSync, writeFileSync } from 'node:fs'
import type { Command } from 'commander'
import { z } from 'zod'
import { describeError, UsageError } from '../../../lib/errors.ts'
import type { NodeClient } from '../../../rpc/client/index.ts'
import { accessRules } from '../../../rpc/schemas/peers.ts'
import { askYes } from '../../shared/terminal/askYes.ts'
import { type NodeOptions, nodeCommand, withNode } from '../nodeCommand.ts'
import { printJson } from '../printJson.ts'
import { questionBeforeBlock } from './blockGuard.ts'
import { requestPeerNames } from './peerNames.ts'
import { formatRules } from './peersView.ts'

/** Far above any list made by hand. */
const MAX_ENTRIES = 10_000
/** A file of block lists, as `--export` and the page write it. A file written by hand may hold subjects alone. */
const fileSchema = z.object({
  blocks: z
    .array(z.object({ subject: z.string().min(1).max(200), reason: z.string().max(200).default('') }))
    .max(MAX_ENTRIES),
})
type Blocks = z.infer<typeof fileSchema>['blocks']

/** `devium p2p blocks`, which also exports the lists to a file and imports them. */
export function addBlocks(parent: Command): void {
  nodeCommand(parent, 'blocks', "Show the operator's block list: peers, IP addresses and subnets")
    .option('--export <file>', 'Write the block list to a file')
    .option('--import <file>', 'Block the entries of a file, too')
    .option('--yes', 'Skip the confirmation of a block that affects many peers')
    .option('--json', 'Print the raw answer')
    .action(async (options: NodeOptions & { export?: string; import?: string; yes?: true }) => {
      const given = options.import === undefined ? undefined : readBlocks(options.import)
      await withNode(options, async (node) => {
        if (given !== undefined) {
          const questions = options.yes === true ? '' : await questionsBefore(node, given)
          if (questions !== '') await askYes(questions)
          // The first entry that the node refuses ends the import.
          for (const { subject, reason } of given) await node.request('deviump2p_block', [subject, reason])
          console.log(`${entries(given.length)} of ${options.import} ${given.length === 1 ? 'is' : 'are'} blocked`)
        }
        const answer = await node.request('deviump2p_accessRules', [])
        if (options.export !== undefined) {
          const { blocks } = accessRules.parse(answer)
          writeBlocks(options.export, { blocks })
          console.log(`${entries(blocks.length)} written to ${options.export}`)
        } else if (options.json) printJson(answer)
        else if (given === undefined) console.log(formatRules(answer, await requestPeerNames(node)))
      })
    })
}

const entries = (count: number): string => (count === 1 ? '1 entry' : `${count} entries`)

/** Throws UsageError. */
function readBlocks(file: string): Blocks {
  let json: unknown
  try {
    json = JSON.parse(readFileSync(file, 'utf8'))
  } catch (cause) {
    throw new UsageError(`--import: cannot read ${file}: ${describeError(cause)}`, { cause })
  }
  const { data, error } = fileSchema.safeParse(json)
  if (error === undefined) return data.blocks
  throw new UsageError(`--import: ${file} is not a block list: ${z.prettifyError(error).replaceAll(/\s+/g, ' ')}`)
}

function writeBlocks(file: string, blocks: unknown): void {
  try {
    writeFileSync(file, `${JSON.stringify(blocks, null, 2)}\n`)
  } catch (cause) {
    throw new UsageError(`--export: cannot write ${file}: ${describeError(cause)}`, { cause })
  }
}

async function questionsBefore(node: NodeClient, blocks: Blocks): Promise<string> {
  const questions: string[] = []
  for (const { subject } of blocks) {
    const question = await questionBeforeBlock(node, subject)
    if (question !== undefined) questions.push(`${subject}: ${question}`)
  }
  return questions.join('\n')
}
