import { type Attack, attacksOn, lazily, publishing } from '../../src/p2p/hostile/attacks.ts'
import { gossiped, wronglySigned } from '../../src/p2p/testUtils/hostileSetup.ts'
import { CHAIN_ID, TOPIC } from '../../src/p2p/testUtils/testChain.ts'

const messages = (datas: readonly Uint8Array[]) => publishing(TOPIC, datas)
const wrongSigners = lazily(() => wronglySigned(10_000))

/** All attacks, and those that need valid-looking blocks. */
export const ATTACKS: Record<string, Attack> = {
  ...attacksOn(CHAIN_ID, TOPIC),
  'wrong-signer': {
    everyMs: 10,
    step: ({ gossip }, count) =>
      gossip.sendBytes(
        messages(
          wrongSigners()
            .slice((count * 20) % 9_980)
            .slice(0, 20),
        ),
      ),
  },
  stale: {
    everyMs: 10,
    step({ gossip }, count) {
      const timestamp = Math.floor(Date.now() / 1000) - 100
      gossip.sendBytes(messages([gossiped({ timestamp, blockNumber: 1_000_000 + count })]))
    },
  },
  'wrong-hash': {
    everyMs: 10,
    step: ({ gossip }, count) =>
      gossip.sendBytes(messages([gossiped({ blockNumber: 2_000_000 + count, blockHash: `0x${'ab'.repeat(32)}` })])),
  },
  'same-height': {
    everyMs: 10,
    step: ({ gossip }, count) =>
      gossip.sendBytes(messages([gossiped({ blockNumber: 3_000_000, gasUsed: BigInt(count) })])),
  },
}
