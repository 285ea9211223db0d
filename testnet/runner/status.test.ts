import { describe, expect, it } from 'vitest'
import type { Hex } from '../../src/lib/hex.ts'
import { meshSizeFrom, StatusReader, sharedSafeHeight } from './status.ts'

const node = (name: string, safe?: number) =>
  safe === undefined ? { name } : { name, safe: { number: safe, hash: '0x00' as const } }

describe('sharedSafeHeight', () => {
  it('is the lowest safe head, above genesis', () => {
    expect(sharedSafeHeight({ nodes: [node('a', 5), node('b', 3)] })).toBe(3)
    expect(sharedSafeHeight({ nodes: [node('a', 5), node('b', 0)] })).toBeUndefined()
    expect(sharedSafeHeight({ nodes: [node('a', 5), node('b')] })).toBeUndefined()
  })
})

describe('meshSizeFrom', () => {
  it('finds the gauge among other metrics', () => {
    const page = [
      '# TYPE op_node_default_p2p_mesh_peers gauge',
      'op_node_default_p2p_mesh_peers 2',
      'op_node_default_p2p_peer_count 7',
    ].join('\n')
    expect(meshSizeFrom(page)).toBe(2)
    expect(meshSizeFrom('op_node_default_p2p_peer_count 7')).toBeUndefined()
  })
})

it('finds batches on L1, also after an L1 reorg', async () => {
  const batcher: Hex = `0xb0${'00'.repeat(19)}`
  const batchInbox: Hex = `0xff${'00'.repeat(19)}`
  let head = 40
  const blocks = new Map([
    [40, '0x40'],
    [12, '0x12'],
  ])
  const l1 = {
    ...{ url: '', batch: async () => [], close: async () => {} },
    async request(method: string, [number = '']: readonly unknown[]) {
      if (method === 'eth_blockNumber') return `0x${head.toString(16)}`
      const input = blocks.get(Number(number))
      const transaction = { from: batcher, to: batchInbox, hash: `0x${'aa'.repeat(32)}`, input }
      return { timestamp: '0x1', transactions: input === undefined ? [] : [transaction] }
    },
  }
  const reader = new StatusReader({ l1, nodes: () => [], batcher, batchInbox })
  expect(await reader.read()).toMatchObject({ l1Head: 40, lastSubmission: { l1Block: 40 } })
  head = 11
  expect(await reader.read()).toEqual({ l1Head: 11, nodes: [] })
  head = 12
  expect(await reader.read()).toMatchObject({ l1Head: 12, lastSubmission: { l1Block: 12 } })
})
