import { describe, expect, it } from 'vitest'
import { fromHex, toHex } from '../../lib/hex.ts'
import { BlockDriver } from '../testUtils/blockDriver.ts'
import { startExecutionNode } from '../testUtils/executionNode.ts'
import { loadRecordedRpc } from '../testUtils/recordedRpc.ts'
import { DEV_KEYS, signTransaction } from '../testUtils/signTransaction.ts'

const { genesis, rollup } = loadRecordedRpc('holocene-span-brotli-calldata')
/** Emits 5,000 empty logs: counts down from there in a loop. */
const MANY_LOGS = fromHex('0x6113885b60006000a060019003806003575000')

describe('filters', () => {
  it('that wait with more logs than all may have are dropped', async () => {
    const node = await startExecutionNode(genesis)
    try {
      const filters: unknown[] = []
      for (let count = 0; count < 50; count++) filters.push(await node.eth.request('eth_newFilter', [{}]))
      const transaction = signTransaction(DEV_KEYS[0], { to: null, data: MANY_LOGS, gasLimit: 4_000_000n })
      await node.eth.request('eth_sendRawTransaction', [toHex(transaction.raw)])
      await new BlockDriver(node.engine, rollup).build()
      const changes = filters.map((id) => node.eth.request('eth_getFilterChanges', [id]))
      const outcomes = await Promise.allSettled(changes)
      const kept = outcomes.filter(({ status }) => status === 'fulfilled')
      expect(kept).toHaveLength(40)
    } finally {
      await node.close()
    }
  })
})
