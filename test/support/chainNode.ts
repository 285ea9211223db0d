import { performance } from 'node:perf_hooks'
import { systemClock } from '../../src/lib/clock.ts'
import type { Hex } from '../../src/lib/hex.ts'
import { type Logger, silentLogger } from '../../src/lib/logger.ts'
import type { P2pOptions } from '../../src/p2p/base/options.ts'
import { SEQUENCER_KEY, testBlock, testChain } from '../../src/p2p/testUtils/testChain.ts'
import { startTestNode, type TestNode } from '../../src/p2p/testUtils/testNode.ts'
import type { EngineHeads } from '../../src/rollup/engine/index.ts'
import { createNodeMetrics } from '../../src/rollup/node/index.ts'
import { UnsafeChain } from '../../src/rollup/node/unsafeChain.ts'
import {
  type L2BlockRef,
  type PayloadEnvelope,
  type RollupConfig,
  ZERO_HASH,
  ZERO_L2_REF,
} from '../../src/rollup/protocol/types.ts'

/** A real p2p host with a real unsafe chain. Its engine is a list of blocks. */
export interface ChainNode extends TestNode {
  readonly height: number
  readonly hash: Hex
  /** Blocks in order, without the genesis block. */
  readonly chain: readonly PayloadEnvelope[]
  /** `performance.now()` at the moment each height was reached. */
  readonly reachedAtMs: ReadonlyMap<number, number>
  /** For the sequencer: builds, inserts and publishes the next block. */
  produce(): Promise<PayloadEnvelope>
  /** Like admin_postUnsafePayload. */
  post(envelope: PayloadEnvelope): void
  stop(): Promise<void>
}

export interface ChainNodeOptions extends Partial<P2pOptions> {
  /** Initial blocks. */
  blocks?: readonly PayloadEnvelope[]
  isSequencer?: boolean
  /** Delays the engine's answer to a peer's block request. */
  beforeAnswer?: () => Promise<unknown>
  log?: Logger
}

export async function startChainNode(config: RollupConfig, options: ChainNodeOptions = {}): Promise<ChainNode> {
  const { blocks = [], isSequencer = false, beforeAnswer, log = silentLogger, ...p2p } = options
  const chain: PayloadEnvelope[] = [...blocks]
  const reachedAtMs = new Map<number, number>()
  const listeners = new Set<(heads: EngineHeads, movedBy: 'payload') => void>()
  const hashAt = (): Hex => chain.at(-1)?.payload.blockHash ?? ZERO_HASH
  const headRef = (): L2BlockRef => ({
    ...ZERO_L2_REF,
    number: chain.length,
    hash: hashAt(),
  })
  const heads = (): EngineHeads => ({
    unsafe: headRef(),
    pendingSafe: ZERO_L2_REF,
    safe: ZERO_L2_REF,
    finalized: ZERO_L2_REF,
  })
  const append = (envelope: PayloadEnvelope): void => {
    chain.push(envelope)
    reachedAtMs.set(chain.length, performance.now())
    for (const listener of listeners) listener(heads(), 'payload')
  }
  const started = await startTestNode(
    { ...p2p, ...(isSequencer ? { sequencerKey: SEQUENCER_KEY } : {}) },
    {
      logger: log,
      chain: testChain(config, {
        async payloadByNumber(number) {
          await beforeAnswer?.()
          return chain[number - 1]
        },
      }),
    },
  )
  const unsafeChain = new UnsafeChain(
    {
      engine: {
        ready: true,
        takesAnyBlock: false,
        closesGaps: false,
        hasLeftChain: false,
        get heads() {
          return heads()
        },
        subscribe(listener) {
          listeners.add(listener)
          return () => listeners.delete(listener)
        },
        async insertUnsafePayload(envelope) {
          if (envelope.payload.parentHash !== hashAt()) return 'unconnected'
          append(envelope)
          return 'inserted'
        },
        insertDirectly: async () => 'unconnected',
      },
      requestRange: started.node.requestRange,
      requestReset: async () => {},
      metrics: createNodeMetrics(started.registry),
      clock: systemClock,
      logger: log,
    },
    config,
  )
  started.node.onPayload((envelope) => unsafeChain.add(envelope))
  const controller = new AbortController()
  const running = unsafeChain.run(controller.signal)
  return {
    ...started,
    get height() {
      return chain.length
    },
    get hash() {
      return hashAt()
    },
    chain,
    reachedAtMs,
    async produce() {
      const blockNumber = chain.length + 1
      const block = testBlock(config, { blockNumber, parentHash: hashAt() })
      append(block)
      await started.node.publish(block)
      return block
    },
    post: (envelope) => unsafeChain.add(envelope),
    async stop() {
      controller.abort()
      await running
      await started.node.stop()
    },
  }
}
