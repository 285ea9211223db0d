import { Registry } from 'prom-client'
import { startExecutionNode } from '../../src/execution/testUtils/executionNode.ts'
import { createL1Client } from '../../src/l1/index.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { silentLogger } from '../../src/lib/logger.ts'
import { type BlobSource, createDerivationPipeline } from '../../src/rollup/derive/index.ts'
import { createEngineClient } from '../../src/rollup/engine/index.ts'
import { createNodeMetrics, createRollupNode } from '../../src/rollup/node/index.ts'
import type { L2BlockRef } from '../../src/rollup/protocol/types.ts'
import { type Recording, recordedL1Rpc } from './recording.ts'

export interface DerivedChain {
  /** The safe blocks after genesis, in order, each with the number of the L1 block that completed its batch. */
  blocks: { block: L2BlockRef; derivedFrom: number }[]
  /** The safe head after all of L1 was read. */
  safe: L2BlockRef
}

/**
 * Runs a verifier on the recorded L1, with this project's execution client as its engine, until derivation has no more work. It
 * verifies L1's answers unless `trustRpc` is set.
 */
export async function deriveOnEngine(
  recording: Pick<Recording, 'config' | 'l1'>,
  genesis: unknown,
  { blobs, signal, trustRpc = false }: { blobs?: BlobSource; signal?: AbortSignal; trustRpc?: boolean } = {},
): Promise<DerivedChain> {
  const { config } = recording
  const logger = silentLogger
  const clock = systemClock
  const execution = await startExecutionNode(genesis)
  try {
    const engine = createEngineClient({ rpc: execution.engine }, config)
    const l1 = createL1Client({ rpc: recordedL1Rpc(recording), logger, clock }, { trustRpc })
    const stop = new AbortController()
    const idle = Promise.withResolvers<void>()
    const metrics = createNodeMetrics(new Registry())
    const pipeline = createDerivationPipeline({ l1, l2: engine, logger, clock, ...(blobs ? { blobs } : {}) }, config)
    const derivedFrom = new Map<number, number>()
    const node = createRollupNode(
      {
        l1,
        l1Heads: { onHead: () => () => {}, onSafe: () => () => {}, onFinalized: () => () => {} },
        engine,
        pipeline: {
          get origin() {
            return pipeline.origin
          },
          reset: (safeHead, abort) => pipeline.reset(safeHead, abort),
          flushChannel: () => pipeline.flushChannel(),
          async step(pendingSafe, abort) {
            const result = await pipeline.step(pendingSafe, abort)
            if (result.kind === 'attributes') {
              derivedFrom.set(result.derived.parent.number + 1, result.derived.derivedFrom.number)
            }
            return result
          },
        },
        metrics: {
          ...metrics,
          derivationIdle(isIdle) {
            metrics.derivationIdle(isIdle)
            if (isIdle) idle.resolve()
          },
        },
        clock,
        logger,
      },
      config,
    )
    const running = node.run(signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]))
    await Promise.race([idle.promise, running])
    const safe = node.syncStatus().safeL2
    stop.abort()
    await running
    const blocks: DerivedChain['blocks'] = []
    for (let number = config.genesis.l2.number + 1; number <= safe.number; number++) {
      const block = await engine.blockRefByNumber(number)
      const l1Block = derivedFrom.get(number)
      if (block === undefined || l1Block === undefined) throw new Error(`block ${number} was not derived`)
      blocks.push({ block, derivedFrom: l1Block })
    }
    return { blocks, safe }
  } finally {
    await execution.close()
  }
}
