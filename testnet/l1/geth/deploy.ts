import type { RpcClient } from '../../../src/jsonRpc/client.ts'
import { normalizeHex } from '../../../src/lib/hex.ts'
import type { BlockId } from '../../../src/rollup/protocol/types.ts'
import type { ConsensusClient } from '../consensus/consensusClient.ts'
import { batch, checkReceipts, type SignedStep } from '../deploy.ts'

/** Deploys everything in block 1, which becomes the rollup's L1 genesis. The timestamp of slot 1 is the rollup's genesis time. */
export async function deployOnGeth(
  { l1, consensus }: { l1: RpcClient; consensus: Pick<ConsensusClient, 'makeFirstBlock'> },
  steps: readonly SignedStep[],
  signal: AbortSignal,
): Promise<BlockId> {
  await batch(
    l1,
    steps.map(({ raw }) => ({ method: 'eth_sendRawTransaction', params: [raw] })),
  )
  const { hash, number } = await consensus.makeFirstBlock(steps.length, signal)
  checkReceipts(steps, await l1.request('eth_getBlockReceipts', ['0x1']))
  return { hash: normalizeHex(hash, 32, 'L1 block 1'), number }
}
