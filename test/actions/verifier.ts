import { onTestFinished } from 'vitest'
import type { FakeEngine } from '../../src/rollup/engine/testUtils/fakeEngine.ts'
import type { PayloadEnvelope } from '../../src/rollup/protocol/index.ts'
import { TestChain, type TestChainOptions, type TestNode } from './harness.ts'

/** A chain that ends with the test. */
export function startChain(options: TestChainOptions = {}): TestChain {
  const chain = new TestChain(options)
  onTestFinished(() => chain.close())
  return chain
}

/** A sequencer that has made `seconds` blocks, and a verifier that has seen none of them. */
export async function startBoth(
  seconds: number,
  options: TestChainOptions = {},
): Promise<{ chain: TestChain; sequencer: TestNode; verifier: TestNode; blocks: PayloadEnvelope[] }> {
  const chain = startChain(options)
  const sequencer = await chain.addNode({ sequencing: {} })
  const verifier = await chain.addNode()
  await chain.advance(seconds)
  return { chain, sequencer, verifier, blocks: sequencer.p2p.published }
}

/** Another block in the place of this one, with one more transaction. */
export function variantOf(engine: FakeEngine, parent: PayloadEnvelope, block: PayloadEnvelope): PayloadEnvelope {
  const { payload, parentBeaconBlockRoot } = block
  return engine.build(parent, {
    timestamp: payload.timestamp,
    prevRandao: payload.prevRandao,
    suggestedFeeRecipient: payload.feeRecipient,
    transactions: [...payload.transactions, Uint8Array.of(2, 77)],
    noTxPool: true,
    gasLimit: payload.gasLimit,
    withdrawals: [],
    ...(parentBeaconBlockRoot === undefined ? {} : { parentBeaconBlockRoot }),
    eip1559Params: '0x0000000000000000',
  })
}

export function at(blocks: readonly PayloadEnvelope[], number: number): PayloadEnvelope {
  const block = blocks.find(({ payload }) => payload.blockNumber === number)
  if (block === undefined) throw new Error(`no block ${number}`)
  return block
}
