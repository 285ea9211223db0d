import { readFile } from 'node:fs/promises'
import { createRpcClient, type RpcClient } from '../../src/jsonRpc/client.ts'
import { sleep, systemClock } from '../../src/lib/clock.ts'
import { quantityToNumber, toQuantity } from '../../src/lib/hex.ts'
import {
  isForkActive,
  parseRollupConfig,
  payloadEnvelopeToJson,
  payloadFromRpcBlock,
} from '../../src/rollup/protocol/index.ts'
import { keepTrying } from '../l1/keepTrying.ts'
import type { NodeEndpoints } from '../runner/events.ts'
import type { TestnetLayout } from '../runner/layout.ts'
import { createOwnLogger } from '../runner/ownLog.ts'

type Requests = Pick<RpcClient, 'request'>
type Node = Pick<NodeEndpoints, 'name' | 'clients' | 'ethRpc'>

export interface KonaFeedModules {
  /** The sequencer's execution client. */
  sequencer: Requests
  /** The rollup nodes. */
  clients: { get(name: string): Requests }
}

const POLL_MS = 1_000

/**
 * Gives the nodes that run kona-node the blocks that they missed, until the signal aborts. kona-node derives nothing until its
 * execution client has accepted a block, an execution client without peers accepts only a child of its head, and kona-node requests
 * no earlier blocks.
 */
export async function feedKonaNodes(
  { sequencer, clients }: KonaFeedModules,
  nodes: readonly Node[],
  { layout }: { layout: Pick<TestnetLayout, 'rollupConfig' | 'log'> },
  signal: AbortSignal,
): Promise<void> {
  const konaNodes = () => nodes.filter(({ clients }) => clients?.rollup === 'kona')
  if (konaNodes().length === 0) return
  const config = parseRollupConfig(JSON.parse(await readFile(layout.rollupConfig, 'utf8')))
  const isIsthmus = (timestamp: number) => isForkActive(config, 'isthmus', timestamp)
  const feed = async ({ name, ethRpc }: Node) => {
    const execution = createRpcClient({ url: ethRpc })
    try {
      const [head, tip] = await Promise.all([headOf(execution), headOf(sequencer)])
      // Gossip delivers the tip.
      for (let number = head + 1; number < tip; number++) {
        signal.throwIfAborted()
        const block = await sequencer.request('eth_getBlockByNumber', [toQuantity(number), true])
        await clients
          .get(name)
          .request('admin_postUnsafePayload', [payloadEnvelopeToJson(payloadFromRpcBlock(block, isIsthmus))])
      }
    } finally {
      await execution.close()
    }
  }
  const work = async () => {
    await Promise.all(konaNodes().map(feed))
    await sleep(systemClock, POLL_MS, signal)
  }
  const messages = { failed: 'Could not give blocks to kona-node', again: 'Giving blocks to kona-node again' }
  const tools = { clock: systemClock, logger: createOwnLogger(layout.log('kona-feed')), pauseMs: POLL_MS }
  await keepTrying(work, messages, tools, signal)
}

async function headOf(execution: Requests): Promise<number> {
  return quantityToNumber(await execution.request('eth_blockNumber', []), 'L2 block number')
}
