import { createRpcClient } from '../../../jsonRpc/client.ts'
import { JsonRpcError } from '../../../jsonRpc/types.ts'
import { describeError } from '../../../lib/errors.ts'
import { isObject } from '../../../lib/jsonReader.ts'
import { FollowSource } from '../../../rollup/node/index.ts'
import type { FollowedFacts } from './facts.ts'

/** Reads the chain and the safe head of the node that `--l2.follow.source` names. */
export async function gatherFollowed(address: string, timeoutMs: number): Promise<FollowedFacts> {
  const rpc = createRpcClient({ url: address, timeoutMs })
  const { url } = rpc
  try {
    const config = await rpc.request('optimism_rollupConfig', [])
    const { safe } = await new FollowSource({ rpc }, { timeoutMs }).status(AbortSignal.timeout(timeoutMs))
    const chainId = isObject(config) ? config.l2_chain_id : undefined
    return {
      url,
      chainId: typeof chainId === 'number' ? BigInt(chainId) : undefined,
      safe: { number: safe.number, time: safe.timestamp },
    }
  } catch (error) {
    const code = error instanceof JsonRpcError ? 'wrong-kind' : 'down'
    return { url, problem: { code, text: describeError(error) } }
  } finally {
    await rpc.close()
  }
}
