import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { JsonValue } from '../../jsonRpc/types.ts'
import { toHex } from '../../lib/hex.ts'
import { BlockDriver } from '../testUtils/blockDriver.ts'
import { type ExecutionNode, startExecutionNode } from '../testUtils/executionNode.ts'
import { loadRecordedRpc, RECORDINGS, recordedTransactions } from '../testUtils/recordedRpc.ts'

type Json = { [key: string]: JsonValue }

// The chains were recorded from op-geth's RPC. Executed again from genesis, every answer must be equal.
describe.each(RECORDINGS)('%s, executed through the Engine API', (name) => {
  const recording = loadRecordedRpc(name)
  const { blocks, receipts } = recording
  let node: ExecutionNode
  const request = (method: string, ...params: unknown[]) => node.eth.request(method, params)

  beforeAll(async () => {
    node = await startExecutionNode(recording.genesis)
    const driver = new BlockDriver(node.engine, recording.rollup)
    for (const [number, block] of blocks.entries()) {
      if (number > 0) await driver.insert(payloadOf(block, number), block.parentBeaconBlockRoot)
    }
  })

  afterAll(async () => {
    await node.close()
    expect(node.unexpected).toEqual([])
  })

  /** The payload that a rollup node would send. */
  function payloadOf(block: Json, number: number): Json {
    const members = ['parentHash', 'stateRoot', 'receiptsRoot', 'logsBloom', 'gasLimit', 'gasUsed', 'timestamp']
    const more = ['extraData', 'baseFeePerGas', 'blobGasUsed', 'excessBlobGas', 'withdrawalsRoot']
    return {
      ...Object.fromEntries([...members, ...more].map((member) => [member, block[member] ?? null])),
      feeRecipient: block.miner ?? null,
      prevRandao: block.mixHash ?? null,
      blockNumber: block.number ?? null,
      blockHash: block.hash ?? null,
      withdrawals: [],
      transactions: recordedTransactions(recording, number).map(toHex),
    }
  }

  it('has the recorded head', async () => {
    expect(await request('eth_blockNumber')).toBe(blocks.at(-1)?.number)
  })

  it('returns every recorded block by number and hash, with and without full transactions', async () => {
    for (const block of blocks) {
      expect(await request('eth_getBlockByNumber', block.number, true)).toEqual(block)
      expect(await request('eth_getBlockByHash', block.hash, true)).toEqual(block)
      const hashes = block.transactions.map(({ hash }) => hash)
      expect(await request('eth_getBlockByHash', block.hash, false)).toEqual({ ...block, transactions: hashes })
    }
  })

  it('returns every recorded receipt, with its L1 fees', async () => {
    for (const [number, block] of blocks.entries()) {
      expect(await request('eth_getBlockReceipts', block.hash)).toEqual(receipts[number])
    }
    for (const receipt of receipts.flat().slice(0, 60)) {
      expect(await request('eth_getTransactionReceipt', receipt.transactionHash)).toEqual(receipt)
    }
  })

  it('returns recorded transactions by hash and by index', async () => {
    for (const transaction of blocks.flatMap((block) => block.transactions).slice(0, 60)) {
      const { hash, blockHash, blockNumber, transactionIndex } = transaction
      expect(await request('eth_getTransactionByHash', hash)).toEqual(transaction)
      expect(await request('eth_getTransactionByBlockHashAndIndex', blockHash, transactionIndex)).toEqual(transaction)
      expect(await request('eth_getTransactionByBlockNumberAndIndex', blockNumber, transactionIndex)).toEqual(
        transaction,
      )
    }
  })

  it('returns all recorded logs, and the logs of one topic', async () => {
    const logs = receipts.flat().flatMap((receipt) => receipt.logs as Json[])
    expect(logs.length).toBeGreaterThan(10)
    expect(await request('eth_getLogs', { fromBlock: '0x0', toBlock: 'latest' })).toEqual(logs)
    const [topic] = logs.flatMap((log) => log.topics as string[])
    expect(await request('eth_getLogs', { fromBlock: 'earliest', topics: [topic] })).toEqual(
      logs.filter((log) => (log.topics as string[])[0] === topic),
    )
    const { blockHash } = logs[0] ?? {}
    expect(await request('eth_getLogs', { blockHash })).toEqual(logs.filter((log) => log.blockHash === blockHash))
  })
})
