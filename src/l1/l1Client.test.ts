import { describe, expect, it } from 'vitest'
import { loadRecording, type Recording, recordedL1Rpc } from '../../test/support/recording.ts'
import { JsonRpcError } from '../jsonRpc/types.ts'
import { ManualClock } from '../lib/clock.ts'
import { type Hex, toHex } from '../lib/hex.ts'
import { silentLogger } from '../lib/logger.ts'
import { errorWith } from '../lib/testUtils/errorWith.ts'
import { createL1Client, type L1ClientOptions } from './l1Client.ts'
import { parseReceipt } from './receipt.ts'

type Rpc = ReturnType<typeof recordedL1Rpc>

const recording = loadRecording('holocene-span-brotli-calldata')
const glamsterdam = loadRecording('2026-glamsterdam-l1')
const withTransactions = pick((block) => block.receipts.some((receipt) => JSON.stringify(receipt.logs) !== '[]'))

function pick(predicate: (block: Recording['l1'][number]) => boolean): Recording['l1'][number] {
  const block = recording.l1.find(predicate)
  if (block === undefined) throw new Error('the recording has no such block')
  return block
}

/** A client over `rpc`; counts the calls. */
function clientOver(rpc: Rpc, options: L1ClientOptions = {}) {
  const calls: string[] = []
  const counting: Rpc = {
    request: (method, params) => {
      calls.push(method)
      return rpc.request(method, params)
    },
    batch: (batch) => {
      calls.push(...batch.map(({ method }) => method))
      return rpc.batch(batch)
    },
  }
  const clock = new ManualClock()
  return { client: createL1Client({ rpc: counting, logger: silentLogger, clock }, options), calls, clock }
}

/** The recorded endpoint with one answer changed. */
function tampered(method: string, change: (answer: never) => unknown): Rpc {
  const rpc = recordedL1Rpc(recording)
  return {
    ...rpc,
    async request(called, params) {
      const answer = await rpc.request(called, params)
      return called === method && answer !== null ? change(answer as never) : answer
    },
  }
}

describe('L1 client over a recorded chain', () => {
  it.each([
    { l1: 'Anvil', chain: recording },
    { l1: 'go-ethereum with Glamsterdam from block 20 on', chain: glamsterdam },
  ])('verifies every block of $l1, its transactions with their senders, and its receipts', async ({ chain }) => {
    const { client } = clientOver(recordedL1Rpc(chain))
    let transactionCount = 0
    for (const [number, recorded] of chain.l1.entries()) {
      const info = await client.blockInfoByNumber(number)
      expect(info?.hash).toBe(recorded.hash)
      const { transactions } = await client.transactions(recorded.hash)
      expect(transactions.map(({ hash, from, to }) => ({ hash, from, to }))).toEqual(
        recorded.transactions.map(({ hash, from, to }) => ({ hash, from, to: to ?? null })),
      )
      const { receipts } = await client.receipts(recorded.hash)
      expect(receipts.map((receipt) => receipt.transactionHash)).toEqual(recorded.transactions.map(({ hash }) => hash))
      transactionCount += transactions.length
    }
    expect(transactionCount).toBeGreaterThan(20)
  })

  it.each(Object.entries(glamsterdam.l1Proofs))(
    'verifies a proof of storage at L1 block %s, around Glamsterdam',
    async (number, { address, storageProof: [slot] }) => {
      const { client } = clientOver(recordedL1Rpc(glamsterdam))
      const hash = glamsterdam.l1[Number(number)]?.hash
      if (hash === undefined || slot === undefined) throw new Error(`nothing is recorded of L1 block ${number}`)
      expect(BigInt(await client.storageAt(address, slot.key, hash))).toBe(BigInt(slot.value))
    },
  )

  it('fetches a block once for any number of callers', async () => {
    const { client, calls } = clientOver(recordedL1Rpc(recording))
    const { hash } = withTransactions
    await Promise.all([client.receipts(hash), client.receipts(hash), client.transactions(hash)])
    await Promise.all([client.receipts(hash), client.transactions(hash), client.blockInfoByHash(hash)])
    expect(calls.sort()).toEqual(['eth_getBlockByHash', 'eth_getBlockByHash', 'eth_getBlockReceipts'])
  })

  it('fetches no receipts for a block without transactions', async () => {
    const empty = pick((block) => block.transactions.length === 0 && block.number !== '0x0')
    const { client, calls } = clientOver(recordedL1Rpc(recording))
    expect((await client.receipts(empty.hash)).receipts).toEqual([])
    expect((await client.transactions(empty.hash)).transactions).toEqual([])
    expect(calls).toEqual(['eth_getBlockByHash'])
  })

  it('returns undefined for a block beyond the head, and throws l1-not-found for its content', async () => {
    const { client } = clientOver(recordedL1Rpc(recording))
    const unknown: Hex = `0x${'77'.repeat(32)}`
    expect(await client.blockInfoByNumber(1000)).toBeUndefined()
    expect(await client.blockInfoByHash(unknown)).toBeUndefined()
    await expect(client.receipts(unknown)).rejects.toMatchObject({ code: 'l1-not-found' })
    await expect(client.transactions(unknown)).rejects.toMatchObject({ code: 'l1-not-found' })
  })

  it.each(['finalized block not found', 'unknown block', 'header not found'])(
    'treats the error "%s" as a missing block',
    async (message) => {
      const rpc: Rpc = {
        ...recordedL1Rpc(recording),
        request: () => Promise.reject(new JsonRpcError(-39001, message)),
      }
      expect(await clientOver(rpc).client.blockInfoByLabel('finalized')).toBeUndefined()
    },
  )

  it('keeps only the requested logs, after it has checked all', async () => {
    const { depositContractAddress } = recording.config
    const all = await clientOver(recordedL1Rpc(recording)).client.receipts(withTransactions.hash)
    const none = clientOver(recordedL1Rpc(recording), { logAddresses: [`0x${'01'.repeat(20)}`] })
    const some = clientOver(recordedL1Rpc(recording), { logAddresses: [depositContractAddress] })
    expect(all.receipts.flatMap(({ logs }) => logs).length).toBeGreaterThan(0)
    expect((await none.client.receipts(withTransactions.hash)).receipts.flatMap(({ logs }) => logs)).toEqual([])
    expect((await some.client.receipts(withTransactions.hash)).receipts).toEqual(all.receipts)
  })
})

describe('L1 client against an endpoint with false answers', () => {
  const { hash, number } = withTransactions
  const blockNumber = Number(number)

  it.each([
    ['timestamp', { timestamp: '0x1' }],
    ['base fee', { baseFeePerGas: '0x1' }],
    ['mixHash', { mixHash: `0x${'01'.repeat(32)}` }],
    ['hash', { hash: `0x${'02'.repeat(32)}` }],
  ])('refuses a header with another %s unless it is trusted', async (_, change) => {
    const rpc = tampered('eth_getBlockByNumber', (block: object) => ({ ...block, ...change }))
    await expect(clientOver(rpc).client.blockInfoByNumber(blockNumber)).rejects.toMatchObject({ code: 'l1-bad-answer' })
    expect(await clientOver(rpc, { trustRpc: true }).client.blockInfoByNumber(blockNumber)).toBeDefined()
  })

  it('names the unknown fields of a block of an unknown fork', async () => {
    const rpc = tampered('eth_getBlockByNumber', (block: object) => ({
      ...{ ...block, hash: `0x${'02'.repeat(32)}` },
      ...{ inclusionListRoot: '0x01', focilHash: '0x02', size: '0x1', absent: null },
    }))
    await expect(clientOver(rpc).client.blockInfoByNumber(blockNumber)).rejects.toThrow(
      errorWith('l1-unknown-fork', '(inclusionListRoot, focilHash)'),
    )
    expect(await clientOver(rpc, { trustRpc: true }).client.blockInfoByNumber(blockNumber)).toBeDefined()
  })

  it('refuses another block than the requested one, trusted or not', async () => {
    const other = recording.l1[2]
    const rpc = tampered('eth_getBlockByNumber', (block: object) => ({ ...block, ...other, transactions: [] }))
    await expect(clientOver(rpc).client.blockInfoByNumber(5)).rejects.toMatchObject({ code: 'l1-bad-answer' })
    const trusting = clientOver(rpc, { trustRpc: true }).client
    await expect(trusting.blockInfoByNumber(5)).rejects.toMatchObject({ code: 'l1-bad-answer' })
  })

  it('recovers the sender from the signature', async () => {
    const liar: Hex = `0x${'66'.repeat(20)}`
    const rpc = tampered('eth_getBlockByHash', (block: { transactions: (string | object)[] }) => ({
      ...block,
      transactions: block.transactions.map((item) => (typeof item === 'string' ? item : { ...item, from: liar })),
    }))
    const honest = await clientOver(recordedL1Rpc(recording)).client.transactions(hash)
    const checked = await clientOver(rpc).client.transactions(hash)
    expect(checked.transactions.map(({ from }) => from)).toEqual(honest.transactions.map(({ from }) => from))
    const trusting = await clientOver(rpc, { trustRpc: true }).client.transactions(hash)
    expect(trusting.transactions.map(({ from }) => from)).toContain(liar)
  })

  it('refuses transactions that do not match the root, and forgets the answer', async () => {
    let lie = true
    const rpc = tampered('eth_getBlockByHash', (block: { transactions: (string | object)[] }) => ({
      ...block,
      transactions: block.transactions.map((item) =>
        typeof item === 'string' || !lie ? item : { ...item, input: '0x00' },
      ),
    }))
    const { client } = clientOver(rpc)
    await expect(client.transactions(hash)).rejects.toMatchObject({ code: 'l1-bad-answer' })
    lie = false
    expect((await client.transactions(hash)).transactions.length).toBeGreaterThan(0)
  })

  it.each<[string, (receipts: Receipt[]) => unknown]>([
    ['a missing receipt', (receipts) => receipts.slice(1)],
    ['a changed status', (receipts) => receipts.map((receipt) => ({ ...receipt, status: '0x0' }))],
    [
      'a changed log',
      (receipts) => receipts.map((receipt) => ({ ...receipt, logs: changeLogs(receipt.logs, 'data', '0x') })),
    ],
    [
      'a wrong log index',
      (receipts) => receipts.map((receipt) => ({ ...receipt, logs: changeLogs(receipt.logs, 'logIndex', '0x9') })),
    ],
    [
      'another transaction',
      (receipts) => receipts.map((receipt) => ({ ...receipt, transactionHash: `0x${'09'.repeat(32)}` })),
    ],
    ['another block', (receipts) => receipts.map((receipt) => ({ ...receipt, blockHash: `0x${'09'.repeat(32)}` }))],
    ['no list', () => ({})],
    ['malformed members', () => [null]],
  ])('refuses receipts with %s', async (_, change) => {
    const { client } = clientOver(tampered('eth_getBlockReceipts', change))
    await expect(client.receipts(hash)).rejects.toMatchObject({ code: 'l1-bad-answer' })
  })
})

interface Receipt {
  logs: object[]
  [key: string]: unknown
}

function changeLogs(logs: object[], name: string, value: string): object[] {
  return logs.map((log) => ({ ...log, [name]: value }))
}

describe('ways to fetch receipts', () => {
  const { hash } = withTransactions

  it.each([
    ['standard', ['eth_getBlockReceipts']],
    ['basic', withTransactions.transactions.map(() => 'eth_getTransactionReceipt')],
    ['debug_geth', ['debug_getRawReceipts', ...withTransactions.transactions.map(() => 'eth_getTransactionReceipt')]],
    ['erigon', ['erigon_getBlockReceiptsByBlockHash', 'eth_getTransactionReceipt']],
    ['alchemy', ['alchemy_getTransactionReceipts', 'eth_getBlockReceipts']],
    [
      'any',
      [
        'alchemy_getTransactionReceipts',
        'debug_getRawReceipts',
        'erigon_getBlockReceiptsByBlockHash',
        'eth_getBlockReceipts',
      ],
    ],
  ] as const)('kind %s falls back along its list', async (rpcKind, expected) => {
    const { client, calls } = clientOver(recordedL1Rpc(recording), { rpcKind })
    const { receipts } = await client.receipts(hash)
    expect(receipts).toHaveLength(withTransactions.transactions.length)
    expect([...new Set(calls.slice(1))]).toEqual([...new Set(expected)])
  })

  it('does not retry a refused method within a minute', async () => {
    const blocks = recording.l1.filter((block) => block.transactions.length > 0)
    const { client, calls, clock } = clientOver(recordedL1Rpc(recording), { rpcKind: 'debug_geth' })
    const refused = () => calls.filter((method) => method === 'debug_getRawReceipts').length
    await client.receipts(hashOf(blocks[0]))
    await client.receipts(hashOf(blocks[1]))
    expect(refused()).toBe(1)
    await clock.advance(60_000)
    await client.receipts(hashOf(blocks[2]))
    expect(refused()).toBe(2)
  })

  it('reports other failures in place of a fall-back', async () => {
    const rpc = tampered('eth_getBlockReceipts', () => {
      throw new JsonRpcError(-32005, 'too many requests')
    })
    const { client, calls } = clientOver(rpc)
    await expect(client.receipts(hash)).rejects.toMatchObject({ code: 'json-rpc', message: 'too many requests' })
    expect(calls).not.toContain('eth_getTransactionReceipt')
  })
})

function hashOf(block: { hash: Hex } | undefined): Hex {
  if (block === undefined) throw new Error('the recording is too short')
  return block.hash
}

describe('raw receipts', () => {
  it('are read and verified like receipts in JSON', async () => {
    const rpc = recordedL1Rpc(recording)
    const raw: Rpc = {
      ...rpc,
      async request(method, params): Promise<unknown> {
        if (method !== 'debug_getRawReceipts') return rpc.request(method, params)
        const receipts = await rpc.request('eth_getBlockReceipts', params)
        return Array.isArray(receipts) ? receipts.map((receipt) => toHex(parseReceipt(receipt).encoded)) : receipts
      },
    }
    const { hash } = withTransactions
    const fromRaw = await clientOver(raw, { rpcKind: 'debug_geth' }).client.receipts(hash)
    const fromJson = await clientOver(recordedL1Rpc(recording)).client.receipts(hash)
    expect(fromRaw).toEqual(fromJson)
  })
})
