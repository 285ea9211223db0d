import { Registry } from 'prom-client'
import { systemClock } from '../../src/lib/clock.ts'
import type { Hex } from '../../src/lib/hex.ts'
import { silentLogger } from '../../src/lib/logger.ts'
import { startTestNode } from '../../src/p2p/testUtils/testNode.ts'
import type { RollupConfig } from '../../src/rollup/protocol/index.ts'

/** A peer of the sequencer that records the arrival time of each block, by timestamp. */
export async function watchBlocks(
  config: RollupConfig,
  signer: Hex,
  sequencer: string,
): Promise<{ arrivals: ReadonlyMap<number, number>; stop(): Promise<void> }> {
  const arrivals = new Map<number, number>()
  const { node } = await startTestNode(
    { staticPeers: [sequencer] },
    {
      logger: silentLogger,
      clock: systemClock,
      registry: new Registry(),
      chain: { config, signerAddress: () => signer, payloadByNumber: async () => undefined },
    },
  )
  node.onPayload(({ payload }) => {
    if (!arrivals.has(payload.timestamp)) arrivals.set(payload.timestamp, Date.now())
  })
  return { arrivals, stop: () => node.stop() }
}
