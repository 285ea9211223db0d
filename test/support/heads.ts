import { expect } from 'vitest'
import type { RpcClient } from '../../src/jsonRpc/client.ts'

export interface Head {
  number: number
  hash: string
}

export async function heads(rpc: RpcClient): Promise<{ unsafe_l2: Head; safe_l2: Head }> {
  return (await rpc.request('optimism_syncStatus', [])) as Awaited<ReturnType<typeof heads>>
}

export const unsafeHead = async (rpc: RpcClient): Promise<Head> => (await heads(rpc)).unsafe_l2

/** Number of blocks that `follower` lacks of the leader's current head. */
export async function missing(leader: RpcClient, follower: RpcClient): Promise<number> {
  const [led, followed] = [await unsafeHead(leader), await unsafeHead(follower)]
  return led.number - followed.number
}

/** Polls while `leader` makes `blocks`. Returns the maximum number of blocks that `follower` was behind. */
export async function mostBehind(leader: RpcClient, follower: RpcClient, blocks: number): Promise<number> {
  const end = (await unsafeHead(leader)).number + blocks
  let most = 0
  await expect
    .poll(async () => {
      most = Math.max(most, await missing(leader, follower))
      return (await unsafeHead(leader)).number
    })
    .toBeGreaterThanOrEqual(end)
  return most
}

/** Scores of a node's connected peers, in either dialect of the RPC. */
export async function scores(rpc: RpcClient): Promise<number[]> {
  const dump = (await rpc.request('opp2p_peers', [true])) as {
    peers: Record<string, { scores: { gossip: { total: number } } }>
  }
  return Object.values(dump.peers).map((peer) => peer.scores.gossip.total)
}

export async function handOver(from: RpcClient, to: RpcClient): Promise<void> {
  const last = await from.request('admin_stopSequencer', [])
  await expect.poll(async () => (await unsafeHead(to)).hash).toBe(last)
  await to.request('admin_startSequencer', [last])
}

/** Both nodes have the same state at the follower's safe head: the output root is a hash of the state and the block. */
export async function expectSameOutput(node: RpcClient, follower: RpcClient): Promise<void> {
  const { safe_l2: safe } = await heads(follower)
  const number = `0x${safe.number.toString(16)}`
  const outputOf = async (rpc: RpcClient) =>
    (await rpc.request('optimism_outputAtBlock', [number])) as { outputRoot: string }
  const { outputRoot } = await outputOf(follower)
  expect(await outputOf(node)).toMatchObject({ outputRoot })
}
