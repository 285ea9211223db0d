import type { RpcClient } from '../../jsonRpc/client.ts'
import { createRpcApp, type HttpServerHandle, serveApp } from '../../jsonRpc/httpServer.ts'
import { createRpcDispatcher, type RpcHandler } from '../../jsonRpc/server.ts'
import { JsonRpcError } from '../../jsonRpc/types.ts'
import { type Hex, quantityToNumber } from '../../lib/hex.ts'
import { until } from '../../lib/testUtils/until.ts'
import { ZERO_HASH } from '../../rollup/protocol/types.ts'
import { readPostedBlocks } from './l1Batches.ts'
import type { RecordedBlock, RecordedChain } from './recordedChain.ts'

const EMPTY_REF = { hash: ZERO_HASH, number: 0, parentHash: ZERO_HASH, timestamp: 0 }

/**
 * A rollup node and its execution client on one port, for the L2 side of tests. It serves a recorded chain. Its safe
 * head follows the batches on the real L1. The test switches faults on.
 */
export class SequencerNode {
  readonly chain: RecordedChain
  blocks: RecordedBlock[]
  /** The blocks of the execution client, if they differ from `blocks`. */
  servedBlocks: RecordedBlock[] | undefined
  /** Number of the unsafe head. */
  unsafe = 0
  /** Fixes the safe head at this number, whatever L1 holds. */
  frozenSafe: number | undefined
  /** The L1 block number that the node reports, instead of the L1 head. */
  currentL1: number | undefined
  syncStatusFault: 'none' | 'hang' | 'error' = 'none'
  syncStatusCalls = 0
  /** The limits of a transaction and a block that it received. */
  readonly maxDaSizes: [number, number][] = []
  /** As nodes of 2024 do until their first derived block. */
  emptyLocalSafe = false
  blockFault = false
  /** Requests for the L2 head that fail from now on. */
  headFaults = 0
  private readonly l1: RpcClient
  private readonly sender: Hex
  private server: HttpServerHandle | undefined
  private readonly released: (() => void)[] = []

  constructor(chain: RecordedChain, l1: RpcClient, sender: Hex) {
    this.chain = chain
    this.blocks = chain.blocks
    this.l1 = l1
    this.sender = sender
  }

  get url(): string {
    if (this.server === undefined) throw new Error('not started')
    return this.server.url
  }

  async start(port = 0): Promise<void> {
    const methods = new Map<string, RpcHandler>([
      ['eth_chainId', () => `0x${this.chain.config.l2ChainId.toString(16)}`],
      [
        'miner_setMaxDASize',
        ([maxTxBytes, maxBlockBytes]) => {
          this.maxDaSizes.push([Number(maxTxBytes), Number(maxBlockBytes)])
          return true
        },
      ],
      [
        'eth_blockNumber',
        () => {
          if (this.headFaults-- > 0) throw new JsonRpcError(-32000, 'the node is starting')
          return `0x${this.unsafe.toString(16)}`
        },
      ],
      ['eth_getBlockByNumber', ([number]) => this.block(quantityToNumber(number))],
      ['optimism_rollupConfig', () => this.chain.rollup],
      ['optimism_syncStatus', () => this.syncStatus()],
    ])
    const app = createRpcApp({ dispatcher: createRpcDispatcher({ methods }) })
    this.server = await serveApp(app, '127.0.0.1', port, 'test')
  }

  async stop(): Promise<void> {
    for (const release of this.released) release()
    await this.server?.close()
  }

  /** Number of the newest block that can be derived from L1. */
  async safeNumber(): Promise<number> {
    if (this.frozenSafe !== undefined) return this.frozenSafe
    let safe = 0
    for (const posted of await readPostedBlocks(this.l1, this.chain.config, this.sender)) {
      const next = this.blocks[safe + 1]
      if (next === undefined || posted.timestamp !== Number(next.timestamp)) continue
      if (posted.parentHash !== undefined && posted.parentHash !== this.blocks[safe]?.hash) continue
      safe++
    }
    return safe
  }

  /** Resolves when this block is the newest that can be derived from L1. */
  async derives(number: number): Promise<void> {
    await until(async () => (await this.safeNumber()) === number)
  }

  private block(number: number): RecordedBlock | null {
    if (this.blockFault) throw new JsonRpcError(-32000, 'the database is being compacted')
    return number <= this.unsafe ? ((this.servedBlocks ?? this.blocks)[number] ?? null) : null
  }

  private async syncStatus(): Promise<object> {
    this.syncStatusCalls++
    switch (this.syncStatusFault) {
      case 'hang':
        await new Promise<void>((resolve) => this.released.push(resolve))
        break
      case 'error':
        throw new JsonRpcError(-32000, 'the engine is not reachable')
    }
    const head = (await this.l1.request('eth_getBlockByNumber', ['latest', false])) as Record<string, string>
    const l1Ref = {
      hash: head.hash,
      number: Number(head.number),
      parentHash: head.parentHash,
      timestamp: Number(head.timestamp),
    }
    const safe = this.l2Ref(await this.safeNumber())
    return {
      current_l1: this.currentL1 === undefined ? l1Ref : { ...l1Ref, number: this.currentL1 },
      head_l1: l1Ref,
      safe_l2: safe,
      local_safe_l2: this.emptyLocalSafe ? { ...EMPTY_REF, l1origin: EMPTY_REF } : safe,
      unsafe_l2: this.l2Ref(this.unsafe),
    }
  }

  private l2Ref(number: number): object {
    const block = this.blocks[number]
    return {
      hash: block?.hash,
      number,
      parentHash: block?.parentHash,
      timestamp: Number(block?.timestamp),
      l1origin: { hash: ZERO_HASH.replace('00', '11'), number: 0 },
      sequenceNumber: 0,
    }
  }
}
