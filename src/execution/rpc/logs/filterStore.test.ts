import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../../lib/clock.ts'
import { fromHex, type Hex, toHex } from '../../../lib/hex.ts'
import { silentLogger } from '../../../lib/logger.ts'
import type { ReadableChain } from '../../chain/chainView.ts'
import type { HeadChange } from '../../chain/types.ts'
import type { Log } from '../../primitives/block.ts'
import { BlockDriver } from '../../testUtils/blockDriver.ts'
import { startExecutionNode } from '../../testUtils/executionNode.ts'
import { loadRecordedRpc, recordedBlock } from '../../testUtils/recordedRpc.ts'
import { DEV_KEYS, signTransaction } from '../../testUtils/signTransaction.ts'
import type { RpcModules } from '../context.ts'
import { DEFAULT_RPC_OPTIONS } from '../options.ts'
import { FilterStore } from './filterStore.ts'
import type { LogFilter } from './logFilter.ts'
import { searchLogs } from './logSearch.ts'

const { genesis, rollup } = loadRecordedRpc('holocene-span-brotli-calldata')
/** Emits 5,000 empty logs in a loop that counts down. */
const MANY_LOGS = fromHex('0x6113885b60006000a060019003806003575000')

describe('filters', () => {
  it('are dropped when the logs that wait in all filters exceed the limit', async () => {
    const node = await startExecutionNode(genesis)
    try {
      const filters: unknown[] = []
      for (let count = 0; count < 50; count++) filters.push(await node.eth.request('eth_newFilter', [{}]))
      const transaction = signTransaction(DEV_KEYS[0], { to: null, data: MANY_LOGS, gasLimit: 4_000_000n })
      await node.eth.request('eth_sendRawTransaction', [toHex(transaction.raw)])
      await new BlockDriver(node.engine, rollup).build()
      let kept = 0
      for (const id of filters) {
        kept += await node.eth.request('eth_getFilterChanges', [id]).then(
          () => 1,
          () => 0,
        )
      }
      expect(kept).toBe(40)
    } finally {
      await node.close()
    }
  })

  it('have a limited number of addresses and topics in all', () => {
    const store = new FilterStore({
      chain: { onHead: () => () => {} } as unknown as RpcModules['chain'],
      pool: { onAdded: () => () => {} } as unknown as RpcModules['pool'],
      clock: new ManualClock(),
      logger: silentLogger,
    })
    const blocks = { kind: 'range', from: undefined, to: undefined } as const
    const topics = Array.from({ length: 4 }, () => Array<Hex>(1000).fill(`0x${'01'.repeat(32)}`))
    const large: LogFilter = { blocks, addresses: Array(1000).fill(`0x${'ab'.repeat(20)}`), topics }
    const [first] = Array.from({ length: 20 }, () => store.installLogs(large))
    expect(() => store.installLogs(large)).toThrow(expect.objectContaining({ rpcCode: -32005 }))
    store.installLogs({ blocks, addresses: [], topics: [] })
    store.uninstall(first ?? '0x')
    store.installLogs(large)
  })

  it('return the hashes of pool transactions, or on request the transactions', async () => {
    const node = await startExecutionNode(genesis)
    try {
      const [hashes, whole] = await Promise.all(
        [[], [true]].map((params) => node.eth.request('eth_newPendingTransactionFilter', params)),
      )
      const { raw, hash } = signTransaction(DEV_KEYS[0], { to: null, data: MANY_LOGS, gasLimit: 4_000_000n })
      await node.eth.request('eth_sendRawTransaction', [toHex(raw)])
      expect(await node.eth.request('eth_getFilterChanges', [hashes])).toEqual([hash])
      const pending = await node.eth.request('eth_getTransactionByHash', [hash])
      expect(pending).toMatchObject({ hash, blockHash: null, nonce: '0x0' })
      expect(await node.eth.request('eth_getFilterChanges', [whole])).toEqual([pending])
    } finally {
      await node.close()
    }
  })

  it('read no receipts of blocks whose bloom filter excludes a match', async () => {
    const { header } = recordedBlock(loadRecordedRpc('holocene-span-brotli-calldata'), 8)
    const read: string[] = []
    let onHead: (change: HeadChange) => void = () => {}
    const receipts = (hash: string) => {
      read.push(hash)
      return Promise.resolve([])
    }
    const chain = {
      receipts,
      onHead(listener: typeof onHead) {
        onHead = listener
        return () => {}
      },
    }
    const store = new FilterStore({
      chain: chain as unknown as RpcModules['chain'],
      pool: { onAdded: () => () => {} } as unknown as RpcModules['pool'],
      clock: new ManualClock(),
      logger: silentLogger,
    })
    const blocks = { kind: 'range', from: undefined, to: undefined } as const
    const elsewhere = store.installLogs({ blocks, addresses: [`0x${'ab'.repeat(20)}`], topics: [] })
    const empty = { ...header, logsBloom: `0x${'00'.repeat(256)}` } as const
    onHead({ head: empty, removed: [], added: [empty] })
    expect(await store.changes(elsewhere)).toEqual([])
    expect(read).toEqual([])
    const full = { ...header, logsBloom: `0x${'ff'.repeat(256)}` } as const
    store.installLogs({ blocks, addresses: [], topics: [] })
    onHead({ head: empty, removed: [], added: [empty, full] })
    await store.changes(elsewhere)
    expect(read).toEqual([header.hash])
  })
})

describe('eth_getLogs', () => {
  it('ends at its limits of blocks and answer size, and names the last block that fits', async () => {
    const node = await startExecutionNode(genesis)
    try {
      // LOG0 of 100,000 bytes of memory.
      const data = fromHex('0x620186a06000a000')
      const driver = new BlockDriver(node.engine, rollup)
      for (let nonce = 0; nonce < 3; nonce++) {
        const transaction = signTransaction(DEV_KEYS[0], { nonce, to: null, data, gasLimit: 4_000_000n })
        await node.eth.request('eth_sendRawTransaction', [toHex(transaction.raw)])
        await driver.build()
      }
      const filter: LogFilter = {
        blocks: { kind: 'range', from: { kind: 'number', number: 1 }, to: undefined },
        addresses: [],
        topics: [],
      }
      const limits = { maxLogRangeBlocks: 2, maxLogs: 100, maxLogCharacters: 500_000 }
      const search = (maxLogCharacters: number, changes: Partial<typeof limits> = {}) =>
        searchLogs(node.chain, filter, { ...limits, ...changes, maxLogCharacters }, new AbortController().signal)
      await expect(search(500_000)).rejects.toMatchObject({
        rpcCode: -32005,
        message: expect.stringMatching(/500000.*blocks 1 to 2/),
      })
      expect((await search(700_000)).length).toBeGreaterThanOrEqual(3)
      await expect(search(700_000, { maxLogs: 2 })).rejects.toMatchObject({
        rpcCode: -32005,
        message: 'query returned more than 2 results: blocks 1 to 2 fit',
      })
      // graph-node splits the range on this code, other indexers on op-reth's words.
      await expect(search(700_000, { maxLogRangeBlocks: 1 })).rejects.toMatchObject({
        rpcCode: -32005,
        message: 'query exceeds max block range 1: 3 blocks',
      })
      const { receipts } = node.chain
      node.chain.receipts = async () => undefined
      await expect(search(700_000)).rejects.toMatchObject({ rpcCode: 4444 })
      node.chain.receipts = receipts
    } finally {
      await node.close()
    }
  })

  it('returns all logs of a single block, however many', async () => {
    const { header } = recordedBlock(loadRecordedRpc('holocene-span-brotli-calldata'), 8)
    const log: Log = { address: `0x${'ab'.repeat(20)}`, topics: [], data: new Uint8Array(), logIndex: 0 }
    // Too many for the arguments of one call.
    const receipt = { blockNumber: header.number, transactionIndex: 0, logs: Array<Log>(200_000).fill(log) }
    // Only what the search reads.
    const chain = {
      head: () => header,
      headerByNumber: async () => ({ ...header, logsBloom: `0x${'ff'.repeat(256)}` }),
      receipts: async () => [receipt],
    } as unknown as ReadableChain
    const number = { kind: 'number', number: header.number } as const
    const filter: LogFilter = { blocks: { kind: 'range', from: number, to: number }, addresses: [], topics: [] }
    const found = await searchLogs(chain, filter, DEFAULT_RPC_OPTIONS, new AbortController().signal)
    expect(found).toHaveLength(200_000)
  })
})
