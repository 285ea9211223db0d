import { z } from 'zod'
import { countOf } from '../../../lib/phrases.ts'
import { plainText } from '../../shared/table.ts'
import { formatSeconds } from '../../shared/units.ts'

const reachabilitySchema = z.object({ lastAnswerMs: z.number().nullable(), error: z.string().nullable() })
const statusSchema = z.object({
  why: z.string(),
  running: z.boolean(),
  stopping: z.boolean(),
  from: z.string(),
  safe: z.number().nullable(),
  unsafe: z.number().nullable(),
  lastLoaded: z.object({ number: z.number(), hash: z.string() }).nullable(),
  pendingBlocks: z.number(),
  heldBytes: z.number(),
  unsafeDaBytes: z.number(),
  openChannel: z
    .object({
      id: z.string(),
      firstBlock: z.number(),
      lastBlock: z.number(),
      inputBytes: z.number(),
      closesAt: z.object({ l1Block: z.number(), reason: z.string() }).nullable(),
    })
    .nullable(),
  channelsToConfirm: z.number(),
  l1Head: z.number().nullable(),
  l1: reachabilitySchema,
  rollupNode: reachabilitySchema,
  inFlight: z.array(
    z.object({
      nonce: z.number(),
      hash: z.string(),
      blobs: z.number(),
      startedAtMs: z.number(),
      bumps: z.number(),
      tipWei: z.string(),
      feeCapWei: z.string(),
      blobFeeCapWei: z.string().nullable(),
      minedIn: z.number().nullable(),
      missedBlocks: z.number().nullish(),
      problem: z.string().nullable(),
    }),
  ),
  lastHour: z.object({ transactions: z.number(), bytes: z.number(), costGwei: z.number() }),
  throttling: z.boolean(),
})

/** Formats admin_batcherStatus. */
export function formatBatcherStatus(answer: unknown, nowMs = Date.now()): string {
  const status = statusSchema.parse(answer)
  const since = (atMs: number) => formatSeconds(Math.max(0, Math.round((nowMs - atMs) / 1000)))
  const reach = ({ lastAnswerMs, error }: z.infer<typeof reachabilitySchema>) => {
    if (lastAnswerMs === null) return error === null ? 'no request yet' : `never answered; ${error}`
    const answered = `answered ${since(lastAnswerMs)} ago`
    return error === null ? answered : `${answered}; ${error}`
  }
  const block = (number: number | null) => (number === null ? '-' : String(number))
  const { openChannel: open, lastHour } = status
  const lines: [string, string][] = [
    ['batcher', stateOf(status)],
    [
      'L2',
      `safe ${block(status.safe)}, unsafe ${block(status.unsafe)}, loaded to ${block(status.lastLoaded?.number ?? null)}`,
    ],
    [
      'waiting',
      `${countOf(status.pendingBlocks, 'block')} in no channel, ${countOf(status.channelsToConfirm, 'channel')} not confirmed`,
    ],
    [
      'data',
      `${kilobytes(status.heldBytes)} held, about ${kilobytes(status.unsafeDaBytes)} to post on L1${status.throttling ? ', builders are throttled' : ''}`,
    ],
  ]
  if (open !== null) {
    const closes =
      open.closesAt === null ? 'when it is full' : `by L1 block ${open.closesAt.l1Block} (${open.closesAt.reason})`
    lines.push([
      'channel',
      `open with blocks ${open.firstBlock} to ${open.lastBlock}, ${kilobytes(open.inputBytes)}, closes ${closes}`,
    ])
  }
  for (const tx of status.inFlight) {
    const kind = tx.blobs === 0 ? 'calldata' : countOf(tx.blobs, 'blob')
    const missed = tx.missedBlocks ? `, missed ${countOf(tx.missedBlocks, 'L1 block')}` : ''
    const place = tx.minedIn === null ? `in no block${missed}` : `in L1 block ${tx.minedIn}`
    const blobFee = tx.blobFeeCapWei === null ? '' : `, blob fee ${gwei(tx.blobFeeCapWei)}`
    lines.push([
      'sending',
      `${tx.hash} nonce ${tx.nonce}, ${kind}, ${since(tx.startedAtMs)}, ${place}, fee cap ${gwei(tx.feeCapWei)}, tip ${gwei(tx.tipWei)}${blobFee}, ${countOf(tx.bumps, 'bump')}${tx.problem === null ? '' : `; ${tx.problem}`}`,
    ])
  }
  lines.push(
    ['L1', `head ${block(status.l1Head)}, ${reach(status.l1)}`],
    ['rollup node', reach(status.rollupNode)],
    [
      'last hour',
      `${countOf(lastHour.transactions, 'transaction')}, ${kilobytes(lastHour.bytes)}, ${cost(lastHour.costGwei)}`,
    ],
  )
  const rows = lines.map(([name, text]) => `${name.padEnd(12)}${plainText(text)}`)
  return [plainText(status.why), '', ...rows].join('\n')
}

function stateOf({ running, stopping, from }: z.infer<typeof statusSchema>): string {
  if (!running) return `stopped, sender ${from}`
  return stopping ? `stopping after all blocks are on L1, sender ${from}` : `running, sender ${from}`
}

function kilobytes(bytes: number): string {
  return bytes < 1_000 ? `${bytes} B` : `${(bytes / 1_000).toFixed(1)} kB`
}

function cost(costGwei: number): string {
  return costGwei < 1_000_000 ? `${Math.round(costGwei)} gwei` : `${(costGwei / 1e9).toFixed(6)} ether`
}

function gwei(wei: string): string {
  return `${Number(wei) / 1e9} gwei`
}
