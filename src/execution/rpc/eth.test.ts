import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { JsonValue } from '../../jsonRpc/types.ts'
import { checksumAddress } from '../../lib/checksumAddress.ts'
import { keccak256Hex } from '../../lib/hash.ts'
import { fromHex, type Hex, toHex, toQuantity } from '../../lib/hex.ts'
import { BlockDriver } from '../testUtils/blockDriver.ts'
import { type ExecutionNode, startExecutionNode } from '../testUtils/executionNode.ts'
import { loadRecordedRpc } from '../testUtils/recordedRpc.ts'
import {
  DEV_ADDRESSES,
  DEV_KEYS,
  signLegacyTransaction,
  signTransaction,
  testKey,
} from '../testUtils/signTransaction.ts'

type Json = { [key: string]: JsonValue }

const holocene = loadRecordedRpc('holocene-span-brotli-calldata')
/** Only one test uses the second one. It begins with the first nonce. */
const [KEY, FRESH_KEY, THIRD_KEY] = DEV_KEYS
const [SENDER, FRESH, THIRD] = DEV_ADDRESSES
const NOBODY: Hex = '0x00000000000000000000000000000000000abcde'
const PAID: Hex = '0x00000000000000000000000000000000000abcdf'
/** Emits one log whose topic is the first word of the call data. */
const EMITTER = fromHex('0x6009600c60003960096000f360003560006000a100')
/** Reverts with the call data. */
const REVERTER = '0x366000600037366000fd'
const TOPIC: Hex = `0x${'42'.repeat(32)}`

let node: ExecutionNode
let driver: BlockDriver
const request = (method: string, ...params: unknown[]) => node.eth.request(method, params)
const requestJson = async (method: string, ...params: unknown[]) => (await request(method, ...params)) as Json
const send = (raw: Uint8Array) => request('eth_sendRawTransaction', toHex(raw))

beforeAll(async () => {
  node = await startExecutionNode(holocene.genesis)
  driver = new BlockDriver(node.engine, holocene.rollup)
})

afterAll(async () => {
  await node.close()
  expect(node.unexpected).toEqual([])
})

describe('a transaction from wallet to receipt', () => {
  it('waits in the pool, raises the pending nonce, and is mined', async () => {
    const first = signTransaction(FRESH_KEY, { to: PAID, value: 7n })
    expect(await send(first.raw)).toBe(first.hash)
    expect(await request('eth_getTransactionCount', FRESH, 'latest')).toBe('0x0')
    expect(await request('eth_getTransactionCount', FRESH, 'pending')).toBe('0x1')
    expect(await request('eth_getTransactionByHash', first.hash)).toMatchObject({ blockHash: null, from: FRESH })
    expect(await request('eth_getTransactionReceipt', first.hash)).toBeNull()
    expect(await request('txpool_status')).toEqual({ pending: '0x1', queued: '0x0' })
    const content = await requestJson('txpool_content')
    expect(content).toMatchObject({ pending: { [checksumAddress(FRESH)]: { 0: { hash: first.hash } } }, queued: {} })
    const balance = BigInt(String(await request('eth_getBalance', FRESH, 'latest')))

    const block = await driver.build()
    const receipt = await requestJson('eth_getTransactionReceipt', first.hash)
    expect(receipt).toMatchObject({ status: '0x1', blockHash: block.blockHash, transactionIndex: '0x1' })
    expect(BigInt(String(receipt.l1Fee))).toBeGreaterThan(0n)
    expect(await request('eth_getBalance', PAID, 'latest')).toBe('0x7')
    expect(await request('eth_getBalance', PAID, 'earliest')).toBe('0x0')
    const paid = BigInt(String(receipt.gasUsed)) * BigInt(String(receipt.effectiveGasPrice))
    const left = BigInt(String(await request('eth_getBalance', FRESH, 'latest')))
    expect(balance - left).toBe(7n + paid + BigInt(String(receipt.l1Fee)))
    expect(await request('eth_getTransactionCount', FRESH, 'latest')).toBe('0x1')
    expect(await request('txpool_status')).toEqual({ pending: '0x0', queued: '0x0' })
    expect(await request('eth_getRawTransactionByHash', first.hash)).toBe(toHex(first.raw))
    expect(await request('debug_getRawTransaction', first.hash)).toBe(toHex(first.raw))
  })

  it.each<[string, () => Uint8Array, string]>([
    [
      'more value than the sender has',
      () => signTransaction(testKey(1), { value: 10n ** 30n }).raw,
      'insufficient funds for gas * price + value',
    ],
    ['another chain id', () => signTransaction(KEY, { chainId: 1n, nonce: 1 }).raw, 'invalid sender'],
    [
      'a fee above the cap',
      () => signTransaction(KEY, { nonce: 1, maxFeePerGas: 10n ** 14n }).raw,
      'tx fee (2.10 ether) exceeds the configured cap (1.00 ether)',
    ],
    [
      'no replay protection',
      () => signLegacyTransaction(THIRD_KEY, {}).raw,
      'only replay-protected (EIP-155) transactions allowed over RPC',
    ],
    ['the blob type', () => fromHex('0x03c0'), 'transaction type not supported'],
    ['the deposit type', () => fromHex('0x7ec0'), 'transaction type not supported'],
    ['no bytes', () => new Uint8Array(), 'typed transaction too short'],
    ['an invalid encoding', () => fromHex('0x02c0'), 'transaction'],
  ])('a transaction with %s is refused', async (_, raw, text) => {
    await expect(send(raw())).rejects.toMatchObject({ rpcCode: -32000, message: expect.stringContaining(text) })
  })

  it('is refused the second time: first as already known, later for its used nonce', async () => {
    const nonce = Number(await request('eth_getTransactionCount', THIRD, 'latest'))
    const { raw } = signTransaction(THIRD_KEY, { nonce })
    await send(raw)
    await expect(send(raw)).rejects.toMatchObject({ rpcCode: -32000, message: 'already known' })
    await driver.build()
    const message = expect.stringContaining('nonce too low')
    await expect(send(signTransaction(THIRD_KEY, { nonce, value: 1n }).raw)).rejects.toMatchObject({
      rpcCode: -32000,
      message,
    })
  })
})

describe('contracts', () => {
  let emitter: Hex
  let emitted: Json

  beforeAll(async () => {
    const nonce = Number(await request('eth_getTransactionCount', SENDER, 'latest'))
    const { hash } = signTransaction(KEY, { nonce, to: null, data: EMITTER, gasLimit: 200_000n })
    await send(signTransaction(KEY, { nonce, to: null, data: EMITTER, gasLimit: 200_000n }).raw)
    await driver.build()
    emitter = (await requestJson('eth_getTransactionReceipt', hash)).contractAddress as Hex
    const call = signTransaction(KEY, { nonce: nonce + 1, to: emitter, data: fromHex(TOPIC), gasLimit: 100_000n })
    await send(call.raw)
    await driver.build()
    emitted = await requestJson('eth_getTransactionReceipt', call.hash)
  })

  it("eth_getCode, eth_getStorageAt and eth_getLogs return a contract's data", async () => {
    expect(await request('eth_getCode', emitter)).toBe('0x60003560006000a100')
    expect(await request('eth_getCode', NOBODY)).toBe('0x')
    expect(await request('eth_getStorageAt', emitter, '0x0', 'latest')).toBe(`0x${'0'.repeat(64)}`)
    const logs = await request('eth_getLogs', { fromBlock: '0x0', address: emitter, topics: [TOPIC] })
    expect(logs).toEqual(emitted.logs)
    expect(logs).toHaveLength(1)
    expect(
      await request('eth_getLogs', { fromBlock: '0x0', address: emitter, topics: [`0x${'43'.repeat(32)}`] }),
    ).toEqual([])
  })

  it('eth_call applies state overrides, and reports reverts with reason and data', async () => {
    expect(await request('eth_call', { to: NOBODY, data: '0x' }, 'latest')).toBe('0x')
    const overrides = { [NOBODY]: { code: '0x602a60005260206000f3' } }
    expect(await request('eth_call', { to: NOBODY }, 'latest', overrides)).toBe(`0x${'2a'.padStart(64, '0')}`)
    const reason =
      '0x08c379a0000000000000000000000000000000000000000000000000000000000000002000000000000000000000000000000000000000000000000000000000000000026e6f000000000000000000000000000000000000000000000000000000000000'
    const reverting = ['eth_call', { to: NOBODY, input: reason }, 'latest', { [NOBODY]: { code: REVERTER } }] as const
    await expect(request(...reverting)).rejects.toMatchObject({
      rpcCode: 3,
      message: 'execution reverted: no',
      data: reason,
    })
    await expect(request('eth_call', { to: NOBODY }, 'latest', { [NOBODY]: { code: '0xfe' } })).rejects.toMatchObject({
      rpcCode: -32000,
      message: expect.stringContaining('invalid opcode'),
    })
    await expect(request('eth_call', { to: NOBODY, chainId: '0x1' }, 'latest')).rejects.toMatchObject({
      message: "chainId does not match node's (have=1, want=901)",
    })
  })

  it('eth_call applies block overrides', async () => {
    // The sum of NUMBER and TIMESTAMP.
    const call = [{ from: SENDER, to: NOBODY }, 'latest', { [NOBODY]: { code: '0x42430160005260206000f3' } }] as const
    const block = { number: '0x1000', time: '0x200000' }
    expect(await request('eth_call', ...call, block)).toBe(`0x${'201000'.padStart(64, '0')}`)
    expect(await request('eth_call', ...call)).not.toBe(await request('eth_call', ...call, block))
  })

  it('eth_call applies an override of the blob base fee', async () => {
    const call = [{ to: NOBODY }, 'latest', { [NOBODY]: { code: '0x4a5f5260205ff3' } }] as const
    expect(await request('eth_call', ...call)).toBe(`0x${'1'.padStart(64, '0')}`)
    expect(await request('eth_call', ...call, { blobBaseFee: '0x7', difficulty: '0x5' })).toBe(
      `0x${'7'.padStart(64, '0')}`,
    )
    await expect(request('eth_call', ...call, { difficulty: 'x' })).rejects.toMatchObject({ rpcCode: -32602 })
  })

  it.each(['enableReturnData', 'txIndex'])('an unsupported trace option %s is refused by name', async (name) => {
    const traced = request('debug_traceCall', { to: NOBODY }, 'latest', { [name]: name === 'txIndex' ? '0x0' : true })
    await expect(traced).rejects.toMatchObject({ rpcCode: -32000, message: expect.stringContaining(`"${name}"`) })
  })

  it('eth_estimateGas is sufficient and close to the gas used', async () => {
    expect(await request('eth_estimateGas', { from: SENDER, to: NOBODY, value: '0x1' })).toBe('0x5208')
    const call = { from: SENDER, to: emitter, data: TOPIC }
    const gas = BigInt(String(await request('eth_estimateGas', call)))
    expect(gas).toBeGreaterThanOrEqual(BigInt(String(emitted.gasUsed)))
    expect(gas).toBeLessThan(BigInt(String(emitted.gasUsed)) + 1000n)
    await expect(
      request('eth_estimateGas', { to: NOBODY, data: '0x12345678' }, 'latest', { [NOBODY]: { code: REVERTER } }),
    ).rejects.toMatchObject({ rpcCode: 3, message: 'execution reverted', data: '0x12345678' })
  })

  it('raw transactions by their place in a block, 0x where there is none', async () => {
    const { blockHash, blockNumber, transactionIndex } = emitted
    const raw = await request('eth_getRawTransactionByHash', emitted.transactionHash)
    expect(await request('eth_getRawTransactionByBlockHashAndIndex', blockHash, transactionIndex)).toBe(raw)
    expect(await request('eth_getRawTransactionByBlockNumberAndIndex', blockNumber, transactionIndex)).toBe(raw)
    expect(await request('eth_getRawTransactionByBlockHashAndIndex', blockHash, '0x99')).toBe('0x')
    expect(await request('eth_getRawTransactionByBlockNumberAndIndex', '0xffffff', '0x0')).toBe('0x')
  })

  it('eth_call takes null members of a state override for missing ones', async () => {
    // Returns slot 0.
    const code = '0x5f545f5260205ff3'
    const [slot, word] = [`0x${'00'.repeat(32)}`, `0x${'07'.padStart(64, '0')}`]
    for (const storage of [
      { state: null, stateDiff: { [slot]: word } },
      { state: { [slot]: word }, stateDiff: null },
    ]) {
      expect(await request('eth_call', { to: NOBODY }, 'latest', { [NOBODY]: { code, ...storage } })).toBe(word)
    }
  })

  it('eth_createAccessList lists the accessed slots', async () => {
    // SLOAD of slot 5.
    const overrides = { [NOBODY]: { code: '0x60055400' } }
    expect(await request('eth_createAccessList', { from: SENDER, to: NOBODY }, 'latest', overrides)).toMatchObject({
      accessList: [{ address: NOBODY, storageKeys: [`0x${'5'.padStart(64, '0')}`] }],
    })
  })

  it('eth_createAccessList repeats until a call with the list accesses nothing else', async () => {
    // Ends after a cold slot, found by SLOAD's gas. With each slot in the access list, it continues to the next one.
    const endIfCold = (slot: string) => `5a60${slot}54505a90036103e810602257`
    const overrides = { [NOBODY]: { code: `0x${endIfCold('00')}${endIfCold('01')}600254505b00` } }
    const call = { from: SENDER, to: NOBODY }
    const storageKeys = [0, 1, 2].map((slot) => `0x${slot.toString().padStart(64, '0')}`)
    const answer = await requestJson('eth_createAccessList', call, 'latest', overrides)
    expect(answer.accessList).toEqual([{ address: NOBODY, storageKeys }])
    const accessList = [{ address: THIRD, storageKeys: [] }]
    expect(await requestJson('eth_createAccessList', { ...call, accessList }, 'latest', overrides)).toMatchObject({
      accessList: expect.arrayContaining([...accessList, { address: NOBODY, storageKeys }]),
    })
  })

  it('debug_traceTransaction ends before its steps exceed the heap', async () => {
    // Grows its memory to a megabyte, then loops forever.
    const nonce = Number(await request('eth_getTransactionCount', THIRD, 'latest'))
    const loop = { to: null, data: fromHex('0x620fffff51505b600656'), gasLimit: 3_000_000n }
    const raw = signTransaction(THIRD_KEY, { nonce, ...loop })
    // Forced: it takes longer than a busy machine's block waits for the pool.
    await driver.build({ transactions: [raw.raw] })
    await expect(request('debug_traceTransaction', raw.hash, { enableMemory: true })).rejects.toMatchObject({
      rpcCode: -32005,
      message: expect.stringMatching(/50000000.*"limit"/),
    })
    const few = await requestJson('debug_traceTransaction', raw.hash, { enableMemory: true, limit: 300 })
    expect((few.structLogs as Json[]).length).toBeGreaterThan(2)
    expect(JSON.stringify((few.structLogs as Json[]).slice(0, -1)).length).toBeLessThan(320)
  })

  it('a call ends when its client disconnects, and later calls run', async () => {
    const { chain } = node
    const endless: Hex = '0x5b600056'
    const call = { to: NOBODY, gas: 10n ** 12n }
    const code = { [NOBODY]: { code: fromHex(endless) } }
    const client = new AbortController()
    const calls = Array.from({ length: 20 }, () =>
      chain.call(call, { blockHash: chain.head().hash, overrides: code }, client.signal),
    )
    const outcomes = Promise.allSettled(calls)
    // Blocks are built meanwhile.
    await driver.build()
    client.abort(new Error('gone'))
    for (const outcome of await outcomes) expect(outcome).toMatchObject({ reason: { message: 'gone' } })
    const { failure } = await chain.call({ ...call, gas: 100_000n }, { blockHash: chain.head().hash, overrides: code })
    expect(failure).toBe('out of gas')
  })

  it("debug_traceTransaction shows every opcode, in geth's format", async () => {
    const trace = await requestJson('debug_traceTransaction', emitted.transactionHash)
    expect(trace).toMatchObject({ gas: Number(emitted.gasUsed), failed: false, returnValue: '0x' })
    const logs = trace.structLogs as Json[]
    expect(logs.map(({ op }) => op)).toEqual(['PUSH1', 'CALLDATALOAD', 'PUSH1', 'PUSH1', 'LOG1', 'STOP'])
    expect(logs[4]).toMatchObject({ pc: 7, depth: 1, gasCost: 750, stack: [TOPIC, '0x0', '0x0'] })
    const short = await requestJson('debug_traceTransaction', emitted.transactionHash, {
      disableStack: true,
      limit: 60,
    })
    expect(short.structLogs).toEqual(logs.slice(0, 2).map(({ stack: _, ...rest }) => rest))
    await expect(request('debug_traceTransaction', TOPIC)).rejects.toMatchObject({ message: 'transaction not found' })
    await expect(request('debug_traceTransaction', TOPIC, { tracer: 'unknownTracer' })).rejects.toMatchObject({
      rpcCode: -32602,
    })
  })

  it('eth_getProof returns a proof that starts at the state root', async () => {
    const block = await requestJson('eth_getBlockByNumber', 'latest', false)
    const proof = await requestJson('eth_getProof', SENDER, ['0x1', `0x${'2'.padStart(64, '0')}`], 'latest')
    const [rootNode] = proof.accountProof as Hex[]
    expect(keccak256Hex(fromHex(rootNode ?? ''))).toBe(block.stateRoot)
    expect(proof).toMatchObject({
      address: SENDER,
      balance: await request('eth_getBalance', SENDER),
      storageProof: [
        { key: '0x1', value: '0x0' },
        { key: `0x${'2'.padStart(64, '0')}`, value: '0x0' },
      ],
    })
  })
})

describe('filters', () => {
  it('return the blocks, transactions and logs since the last poll', async () => {
    const blocks = await request('eth_newBlockFilter')
    const transactions = await request('eth_newPendingTransactionFilter')
    const logs = await request('eth_newFilter', { topics: [TOPIC] })
    const nonce = Number(await request('eth_getTransactionCount', THIRD, 'latest'))
    const deploy = signTransaction(THIRD_KEY, { nonce, to: null, data: EMITTER, gasLimit: 200_000n })
    await send(deploy.raw)
    const first = await driver.build()
    const { contractAddress } = await requestJson('eth_getTransactionReceipt', deploy.hash)
    const emit = { nonce: nonce + 1, to: contractAddress as Hex, data: fromHex(TOPIC), gasLimit: 100_000n }
    await send(signTransaction(THIRD_KEY, emit).raw)
    const second = await driver.build()
    expect(await request('eth_getFilterChanges', blocks)).toEqual([first.blockHash, second.blockHash])
    expect(await request('eth_getFilterChanges', blocks)).toEqual([])
    expect(await request('eth_getFilterChanges', transactions)).toEqual([deploy.hash, expect.any(String)])
    expect(await request('eth_getFilterChanges', logs)).toMatchObject([{ blockHash: second.blockHash, removed: false }])
    expect(await request('eth_getFilterLogs', logs)).toMatchObject([{ topics: [TOPIC] }])

    // The block is reorganised away: its logs are sent again, as removed.
    await driver.setHead(first.blockHash as Hex)
    expect(await request('eth_getFilterChanges', logs)).toMatchObject([{ blockHash: second.blockHash, removed: true }])
    await driver.setHead(second.blockHash as Hex)

    expect(await request('eth_uninstallFilter', logs)).toBe(true)
    expect(await request('eth_uninstallFilter', logs)).toBe(false)
    await expect(request('eth_getFilterChanges', logs)).rejects.toMatchObject({
      rpcCode: -32000,
      message: 'filter not found',
    })
  })
})

describe('fees', () => {
  it('suggests the minimum tip on an idle chain', async () => {
    expect(await request('eth_maxPriorityFeePerGas')).toBe(toQuantity(1_000_000))
    const { baseFeePerGas } = await requestJson('eth_getBlockByNumber', 'latest', false)
    expect(await request('eth_gasPrice')).toBe(toQuantity(BigInt(String(baseFeePerGas)) + 1_000_000n))
  })

  it('eth_feeHistory returns base fees, gas ratios and rewards', async () => {
    for (let block = 0; block < 2; block++) await driver.build()
    const latest = await requestJson('eth_getBlockByNumber', 'latest', false)
    const history = await requestJson('eth_feeHistory', '0x2', 'latest', [10, 90])
    expect(history.oldestBlock).toBe(toQuantity(Number(latest.number) - 1))
    expect(history.baseFeePerGas).toHaveLength(3)
    expect((history.baseFeePerGas as string[])[1]).toBe(latest.baseFeePerGas)
    expect(history.gasUsedRatio).toHaveLength(2)
    expect(history.reward).toHaveLength(2)
    const { baseFeePerGas } = await driver.build()
    expect((history.baseFeePerGas as string[])[2]).toBe(baseFeePerGas)
    await expect(request('eth_feeHistory', '0x1', 'latest', [50, 10])).rejects.toMatchObject({
      message: 'invalid reward percentile: #0:50.000000 >= #1:10.000000',
    })
  })
})

describe('blocks and the node', () => {
  it("block labels select the block, or return geth's error", async () => {
    expect(await request('eth_getBlockByNumber', 'earliest', false)).toMatchObject({ hash: node.chain.genesis.hash })
    const latest = await request('eth_getBlockByNumber', 'latest', false)
    expect(await request('eth_getBlockByNumber', 'pending', false)).toEqual(latest)
    await expect(request('eth_getLogs', { fromBlock: 'pending' })).rejects.toMatchObject({ rpcCode: -32602 })
    for (const method of ['eth_getBlockReceipts', 'eth_getBlockTransactionCountByNumber']) {
      await expect(request(method, 'safe')).rejects.toMatchObject({ rpcCode: -32000, message: 'safe block not found' })
    }
    await expect(request('eth_getBalance', SENDER, 'safe')).rejects.toMatchObject({ message: 'header not found' })
    expect(await request('eth_getBlockByNumber', '0xffffff', false)).toBeNull()
    await expect(request('eth_getBlockByNumber', 'safe', false)).rejects.toMatchObject({
      message: 'safe block not found',
    })
    await expect(request('eth_getBalance', SENDER, '0xffffff')).rejects.toMatchObject({ message: 'header not found' })
    await expect(request('eth_getBalance', SENDER, { blockHash: TOPIC })).rejects.toMatchObject({
      message: 'header not found',
    })
  })

  it('debug_getRawBlock and debug_getRawHeader encode the block', async () => {
    const { hash } = await requestJson('eth_getBlockByNumber', 'latest', false)
    expect(keccak256Hex(fromHex(String(await request('debug_getRawHeader', 'latest'))))).toBe(hash)
    const block = await requestJson('eth_getBlockByHash', hash, false)
    expect(fromHex(String(await request('debug_getRawBlock', hash))).length).toBe(Number(block.size))
    expect(await request('debug_getRawReceipts', 'latest')).toHaveLength((block.transactions as string[]).length)
  })

  it('debug_chainConfig returns the config of the genesis', async () => {
    expect(await request('debug_chainConfig')).toEqual(node.chain.config.json)
  })

  it('web3_clientVersion, net_version and eth_chainId identify the node', async () => {
    expect(await request('eth_chainId')).toBe('0x385')
    expect(await request('net_version')).toBe('901')
    expect(await request('net_peerCount')).toBe('0x0')
    expect(await request('eth_syncing')).toBe(false)
    expect(await request('eth_accounts')).toEqual([])
    expect(await request('web3_sha3', '0x')).toBe(keccak256Hex(new Uint8Array()))
    expect(await request('web3_clientVersion')).toBe('devium-geth/test')
  })

  it('a transaction above the size limit is refused before it is decoded', async () => {
    const raw = new Uint8Array(131_073)
    raw[0] = 4
    await expect(send(raw)).rejects.toMatchObject({
      rpcCode: -32000,
      message: 'oversized data: transaction size 131073, limit 131072',
    })
  })

  it('eth_getLogs refuses a range that is too large', async () => {
    for (const range of [
      { fromBlock: '0x0', toBlock: '0xffffff' },
      { fromBlock: '0xffffff' },
      { fromBlock: '0x2', toBlock: '0x1' },
    ]) {
      await expect(request('eth_getLogs', range)).rejects.toMatchObject({ rpcCode: -32602 })
    }
  })
})
