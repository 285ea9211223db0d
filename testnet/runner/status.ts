import { request } from 'undici'
import { z } from 'zod'
import type { RpcClient } from '../../src/jsonRpc/client.ts'
import { fromHex, type Hex, quantityToNumber } from '../../src/lib/hex.ts'
import { type Fork, JsonObjectReader } from '../../src/rollup/protocol/index.ts'

export interface Head {
  number: number
  hash: Hex
}

const healthSchema = z.object({
  state: z.enum(['healthy', 'degraded', 'stopped']),
  /** The state and its first cause, in one or two sentences. */
  text: z.string(),
  causes: z.array(z.object({ code: z.string(), text: z.string(), command: z.string().nullable() })),
})

/** The status that one node reports. Undefined members are not known yet. */
export interface NodeStatus {
  name: string
  health?: z.infer<typeof healthSchema>
  unsafe?: Head
  safe?: Head
  finalized?: Head
  peers?: number
  /** Number of peers in the gossip mesh of the block topic. */
  mesh?: number
}

/** A batcher transaction on L1. */
export interface Submission {
  l1Block: number
  /** Unix seconds. */
  timestamp: number
  transactionHash: Hex
  /** Bytes of calldata. */
  bytes: number
  blobs: number
}

export interface TestnetStatus {
  l1Head?: number
  /** The forks at the sequencer's unsafe head. Times are in unix seconds. */
  fork?: { active: Fork; next?: { fork: Fork; time: number } }
  nodes: NodeStatus[]
  lastSubmission?: Submission
  /** L2 block of the last output on L1. Withdrawals up to it can be proven. */
  lastOutput?: number
}

export interface StatusSources {
  l1: RpcClient
  /** Called at each read, because nodes can be added and removed. */
  nodes: () => readonly { name: string; isOurs: boolean; rollup: RpcClient; metricsUrl: string }[]
  /** Batches are transactions from `batcher` to `inbox`. */
  batcher: Hex
  batchInbox: Hex
}

/** Maximum number of L1 blocks searched for batches in one round, if the runner is behind. */
const MAX_BLOCKS_A_ROUND = 20
const TIMEOUT_MS = 2_000

/** Reads the status of all programs, by the RPC and metrics that operators use. */
export class StatusReader {
  private readonly sources: StatusSources
  private nextL1Block: number | undefined
  private lastSubmission: Submission | undefined

  constructor(sources: StatusSources) {
    this.sources = sources
  }

  /** Never rejects. Values of programs that do not answer are omitted. */
  async read(): Promise<TestnetStatus> {
    const [l1Head, ...nodes] = await Promise.all([
      this.readL1().catch(() => undefined),
      ...this.sources.nodes().map((node) => readNode(node)),
    ])
    return {
      nodes,
      ...(l1Head === undefined ? {} : { l1Head }),
      ...(this.lastSubmission === undefined ? {} : { lastSubmission: this.lastSubmission }),
    }
  }

  private async readL1(): Promise<number> {
    const { l1 } = this.sources
    const head = quantityToNumber(await l1.request('eth_blockNumber', [], { timeoutMs: TIMEOUT_MS }))
    // After an L1 reorg a submission above the head no longer exists.
    if (head < (this.lastSubmission?.l1Block ?? 0)) this.lastSubmission = undefined
    const from = Math.max(Math.min(this.nextL1Block ?? head, head), head - MAX_BLOCKS_A_ROUND + 1, 0)
    for (let number = from; number <= head; number++) {
      const block = await l1.request('eth_getBlockByNumber', [`0x${number.toString(16)}`, true], {
        timeoutMs: TIMEOUT_MS,
      })
      this.lastSubmission = this.findSubmission(block, number) ?? this.lastSubmission
      this.nextL1Block = number + 1
    }
    return head
  }

  private findSubmission(block: unknown, number: number): Submission | undefined {
    const reader = new JsonObjectReader(block, 'L1 block')
    let found: Submission | undefined
    for (const transaction of reader.array('transactions')) {
      const fields = new JsonObjectReader(transaction, 'L1 transaction')
      if (fields.optionalHex('to', 20) !== this.sources.batchInbox) continue
      if (fields.hex('from', 20) !== this.sources.batcher) continue
      found = {
        l1Block: number,
        timestamp: reader.quantityNumber('timestamp'),
        transactionHash: fields.hex('hash', 32),
        bytes: fromHex(String(fields.raw('input'))).length,
        blobs: fields.has('blobVersionedHashes') ? fields.array('blobVersionedHashes').length : 0,
      }
    }
    return found
  }
}

async function readNode({
  name,
  isOurs,
  rollup,
  metricsUrl,
}: ReturnType<StatusSources['nodes']>[number]): Promise<NodeStatus> {
  const status: NodeStatus = { name }
  await Promise.allSettled([
    rollup.request('optimism_syncStatus', [], { timeoutMs: TIMEOUT_MS }).then((answer) => {
      const reader = new JsonObjectReader(answer, 'sync status')
      status.unsafe = head(reader.object('unsafe_l2'))
      status.safe = head(reader.object('safe_l2'))
      status.finalized = head(reader.object('finalized_l2'))
    }),
    // Third-party nodes have no verdict, and log the unknown method.
    isOurs &&
      rollup.request('devium_health', [], { timeoutMs: TIMEOUT_MS }).then((answer) => {
        status.health = healthSchema.parse(answer)
      }),
    rollup.request('opp2p_peerStats', [], { timeoutMs: TIMEOUT_MS }).then((answer) => {
      status.peers = new JsonObjectReader(answer, 'peer stats').integer('connected')
    }),
    readMeshSize(metricsUrl).then((mesh) => {
      if (mesh !== undefined) status.mesh = mesh
    }),
  ])
  return status
}

function head(reader: JsonObjectReader): Head {
  return { number: reader.integer('number'), hash: reader.hex('hash', 32) }
}

/** Reads the node's metrics page. */
async function readMeshSize(url: string): Promise<number | undefined> {
  const response = await request(url, { signal: AbortSignal.timeout(TIMEOUT_MS) })
  return meshSizeFrom(await response.body.text())
}

/** The gauge of peers in the gossip mesh; undefined if the page has none. */
export function meshSizeFrom(metrics: string): number | undefined {
  const value = /^\w+_p2p_mesh_peers (\d+)$/m.exec(metrics)?.[1]
  return value === undefined ? undefined : Number(value)
}

/** The height of a safe block, above genesis, that all nodes share; undefined until then. */
export function sharedSafeHeight(status: TestnetStatus): number | undefined {
  const heights = status.nodes.map(({ safe }) => safe?.number ?? 0)
  const height = Math.min(...heights)
  return height > 0 ? height : undefined
}
