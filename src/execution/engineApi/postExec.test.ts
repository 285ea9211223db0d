import { beforeAll, describe, expect, it } from 'vitest'
import { concatBytes } from '../../lib/bytes.ts'
import { fromHex, type Hex, toHex, toQuantity } from '../../lib/hex.ts'
import type { JsonObject as Json } from '../../lib/jsonReader.ts'
import { encodeRlp } from '../../lib/rlp.ts'
import { payloadBlockHash, payloadFromJson } from '../../rollup/protocol/index.ts'
import { decodePostExecTx, encodePostExecTx } from '../../rollup/protocol/transaction/postExec.ts'
import { ZERO_ADDRESS, ZERO_HASH } from '../../rollup/protocol/types.ts'
import { BlockDriver, forkchoice } from '../testUtils/blockDriver.ts'
import { startExecutionNode } from '../testUtils/executionNode.ts'
import { loadRecordedRpc } from '../testUtils/recordedRpc.ts'
import { DEV_KEYS, signTransaction } from '../testUtils/signTransaction.ts'
import { withFork } from '../testUtils/withFork.ts'

/** SSTORE(0, NUMBER) and LOG0: writes the same slot in each call of a block. */
const CONTRACT: Hex = `0x${'5e'.repeat(20)}`
const CODE = '0x435f555f5fa000'
const holocene = loadRecordedRpc('holocene-span-brotli-calldata')

function chainOf(at = 0) {
  const recording = withFork(holocene, 'lagoon', at)
  const alloc = { ...(recording.genesis.alloc as Json), [CONTRACT]: { balance: '0x0', code: CODE } }
  return { rollup: recording.rollup, genesis: { ...recording.genesis, alloc } }
}

async function start(at = 0) {
  const { genesis, rollup } = chainOf(at)
  const node = await startExecutionNode(genesis)
  const eth = (method: string, ...params: unknown[]) => node.eth.request(method, params)
  return { node, driver: new BlockDriver(node.engine, rollup), eth }
}

interface Pair extends AsyncDisposable {
  sequencer: Awaited<ReturnType<typeof start>>
  verifier: Awaited<ReturnType<typeof start>>
  /** Sends a call of the contract from each of these dev accounts to the sequencer. */
  send(...accounts: number[]): Promise<void>
  /** A block of the sequencer, which the verifier executes itself. */
  build(noTxPool?: boolean): Promise<Json>
}

async function startPair(): Promise<Pair> {
  const [sequencer, verifier] = [await start(), await start()]
  const nonces = [0, 0, 0]
  return {
    sequencer,
    verifier,
    async send(...accounts) {
      for (const account of accounts) {
        const nonce = nonces[account] ?? 0
        nonces[account] = nonce + 1
        const key = DEV_KEYS[account] ?? DEV_KEYS[0]
        const { raw } = signTransaction(key, { nonce, to: CONTRACT, gasLimit: 100_000n })
        await sequencer.eth('eth_sendRawTransaction', toHex(raw))
      }
    },
    async build(noTxPool = false) {
      const payload = await sequencer.driver.build({ noTxPool })
      await verifier.driver.insert(payload, ZERO_HASH)
      return payload
    },
    async [Symbol.asyncDispose]() {
      for (const { node } of [sequencer, verifier]) {
        await node.close()
        expect(node.unexpected).toEqual([])
      }
    },
  }
}

/**
 * The operator has opted in. The head of both is a block of two calls: the first warms contract and slot for the
 * second.
 */
async function startRefunding(): Promise<Pair & { refunded: Json }> {
  const pair = await startPair()
  await pair.sequencer.eth('admin_setSdmPostExecOptIn', true)
  // The contract is its own recipient, so only the slot counts.
  await pair.send(0, 1)
  await pair.build()
  await pair.send(0, 1)
  return { ...pair, refunded: await pair.build() }
}

const typesOf = (payload: Json) => (payload.transactions as Hex[]).map((raw) => Number(raw.slice(0, 4)))
const lastOf = (payload: Json) => fromHex((payload.transactions as Hex[]).at(-1) ?? '0x')

describe('a sequencer of a chain with Lagoon', () => {
  it('refunds while its operator has opted in, and a verifier computes the same block', async () => {
    await using pair = await startPair()
    const { sequencer, build, send } = pair
    await send(0, 1)
    expect(typesOf(await build())).toEqual([0x7e, 2, 2])
    expect(await sequencer.eth('admin_sdmStatus')).toEqual({
      postExecOptIn: false,
      operatorSdmOptIn: false,
      protocolActive: true,
      effective: false,
      activationTime: 0,
    })
    expect(await sequencer.eth('admin_setSdmPostExecOptIn', true)).toBeNull()
    expect(await sequencer.eth('admin_sdmStatus', 1)).toMatchObject({ postExecOptIn: true, effective: true })
    await send(0, 1)
    const refunded = await build()
    expect(typesOf(refunded)).toEqual([0x7e, 2, 2, 0x7d])
    // SSTORE of a cold slot.
    expect(decodePostExecTx(lastOf(refunded))).toEqual({
      version: 1,
      blockNumber: Number(refunded.blockNumber),
      refunds: [{ index: 2, gasRefund: 2_100n }],
    })
    expect(await sequencer.eth('admin_setOperatorSdmOptIn', false)).toBeNull()
    await send(0, 1)
    expect(typesOf(await build())).toEqual([0x7e, 2, 2])
  })

  it('adds no post-exec transaction to a block without refunds or without users', async () => {
    await using pair = await startRefunding()
    await pair.send(0)
    expect(typesOf(await pair.build())).toEqual([0x7e, 2])
    expect(typesOf(await pair.build())).toEqual([0x7e])
    expect(typesOf(await pair.build(true))).toEqual([0x7e])
  })

  it('adds no post-exec transaction to a derived block, with or without refunds', async () => {
    await using pair = await startRefunding()
    const { refunded } = pair
    const parent = String(refunded.parentHash) as Hex
    const transactions = (refunded.transactions as Hex[]).slice(1).map((raw) => fromHex(raw))
    for (const { node, driver } of [pair.verifier, pair.sequencer]) {
      const { json } = await driver.attributes({ parent, transactions, noTxPool: true })
      const attributes = { ...json, transactions: refunded.transactions ?? null }
      const answer = await node.engine.request('engine_forkchoiceUpdatedV3', [forkchoice(parent), attributes])
      const { executionPayload } = (await node.engine.request('engine_getPayloadV5', [
        (answer as Json).payloadId ?? null,
      ])) as Json
      expect((executionPayload as Json).blockHash).toBe(refunded.blockHash)
      const withoutRefunds = await driver.start({ parent, transactions: transactions.slice(0, 2), noTxPool: true })
      const other = (await node.engine.request('engine_getPayloadV5', [withoutRefunds])) as Json
      expect(typesOf(other.executionPayload as Json)).toEqual([0x7e, 2, 2])
    }
  })

  it('includes no pool transactions in a block whose attributes contain refunds', async () => {
    await using pair = await startRefunding()
    const { sequencer, refunded } = pair
    const parent = String(refunded.parentHash) as Hex
    const transactions = (refunded.transactions as Hex[]).slice(1).map((raw) => fromHex(raw))
    await pair.send(2)
    await sequencer.driver.setHead(parent)
    const id = await sequencer.driver.start({ parent, transactions })
    const { executionPayload } = (await sequencer.node.engine.request('engine_getPayloadV5', [id])) as Json
    expect(typesOf(executionPayload as Json)).toEqual([0x7e, 2, 2, 0x7d])
    expect(await sequencer.eth('txpool_status')).toMatchObject({ pending: '0x3' })
  })
})

describe('the RPC of a chain with refunds', () => {
  // The tests do not change the node.
  let verifier: Started
  let refunded: Json
  beforeAll(async () => {
    const pair = await startRefunding()
    ;({ verifier, refunded } = pair)
    return () => pair[Symbol.asyncDispose]()
  })

  const hashOf = (index: number) => async () => {
    const { transactions } = (await verifier.eth('eth_getBlockByHash', String(refunded.blockHash), true)) as Json
    return (transactions as Json[])[index] ?? {}
  }
  const postExec = hashOf(3)
  const second = hashOf(2)

  it('shows the post-exec transaction with exactly its members', async () => {
    const raw = lastOf(refunded)
    const shown = await postExec()
    expect(shown).toEqual({
      type: '0x7d',
      hash: expect.stringMatching(/^0x[0-9a-f]{64}$/),
      from: ZERO_ADDRESS,
      gas: '0x0',
      value: '0x0',
      input: toHex(raw.subarray(1)),
      blockHash: refunded.blockHash,
      blockNumber: refunded.blockNumber,
      blockTimestamp: refunded.timestamp,
      transactionIndex: '0x3',
    })
    const hash = String(shown.hash)
    expect(await verifier.eth('eth_getTransactionByHash', hash)).toEqual(shown)
    expect(await verifier.eth('eth_getTransactionByBlockHashAndIndex', String(refunded.blockHash), '0x3')).toEqual(
      shown,
    )
    for (const method of ['eth_getRawTransactionByHash', 'debug_getRawTransaction']) {
      expect(await verifier.eth(method, hash)).toBe(toHex(raw))
    }
    const [body] = (await verifier.node.engine.request('engine_getPayloadBodiesByHashV1', [
      [refunded.blockHash ?? null],
    ])) as Json[]
    expect(body?.transactions).toEqual(refunded.transactions)
    const encodedBlock = String(await verifier.eth('debug_getRawBlock', String(refunded.blockHash)))
    expect(encodedBlock).toContain(toHex(raw).slice(2))
  })

  it('shows the refund in receipts', async () => {
    const receipts = (await verifier.eth('eth_getBlockReceipts', String(refunded.blockHash))) as Json[]
    const [info, first, other, last] = receipts as [Json, Json, Json, Json]
    expect(info).not.toHaveProperty('opGasRefund')
    expect(first.opGasRefund).toBeNull()
    expect(other.opGasRefund).toBe(toQuantity(2_100))
    expect(last).not.toHaveProperty('opGasRefund')
    const used = (receipt: Json) => Number(receipt.gasUsed)
    expect(Number(other.cumulativeGasUsed)).toBe(used(info) + used(first) + used(other))
    expect(last).toMatchObject({
      type: '0x7d',
      status: '0x1',
      gasUsed: '0x0',
      cumulativeGasUsed: other.cumulativeGasUsed,
      effectiveGasPrice: '0x0',
      from: ZERO_ADDRESS,
      to: null,
      contractAddress: null,
      logs: [],
      logsBloom: `0x${'00'.repeat(256)}`,
      l1Fee: '0x0',
      l1GasUsed: '0x0',
      blobGasUsed: '0x0',
      // The block's refunds.
      l1GasPrice: other.l1GasPrice,
      l1BaseFeeScalar: other.l1BaseFeeScalar,
      daFootprintGasScalar: other.daFootprintGasScalar,
    })
    expect(Number(refunded.blobGasUsed)).toBe(Number(first.blobGasUsed) + Number(other.blobGasUsed))
    expect(refunded.gasUsed).toBe(last.cumulativeGasUsed)
    expect(await verifier.eth('eth_getTransactionReceipt', String(last.transactionHash))).toEqual(last)
    expect(await verifier.eth('eth_getTransactionReceipt', String(other.transactionHash))).toEqual(other)
    const raw = (await verifier.eth('debug_getRawReceipts', String(refunded.blockHash))) as Hex[]
    const consensus = encodeRlp([1, Number(last.cumulativeGasUsed), new Uint8Array(256), []])
    expect(raw[3]).toBe(toHex(concatBytes(Uint8Array.of(0x7d), consensus)))
  })

  it('traces the post-exec transaction as an empty call, and others with the gas of their receipts', async () => {
    const { hash, input } = await postExec()
    const trace = (options: Json) => verifier.eth('debug_traceTransaction', String(hash), options)
    expect(await trace({ tracer: 'callTracer' })).toEqual({
      from: ZERO_ADDRESS,
      to: ZERO_ADDRESS,
      gas: '0x0',
      gasUsed: '0x0',
      input,
      value: '0x0',
      type: 'CALL',
    })
    expect(await trace({})).toEqual({ gas: 0, failed: false, returnValue: '0x', structLogs: [] })
    expect(await trace({ tracer: 'prestateTracer' })).toEqual({})
    expect(await trace({ tracer: 'prestateTracer', tracerConfig: { diffMode: true } })).toEqual({ pre: {}, post: {} })
    const block = (await verifier.eth('debug_traceBlockByHash', String(refunded.blockHash), {
      tracer: 'callTracer',
    })) as Json[]
    expect(block).toHaveLength(4)
    const receipt = (await verifier.eth('eth_getTransactionReceipt', String((await second()).hash))) as Json
    const { gasUsed } = (block[2] as Json).result as Json
    expect(gasUsed).toBe(receipt.gasUsed)
    // The other reading: the gas before the refund.
    expect(Number(gasUsed)).not.toBe(Number(receipt.gasUsed) + 2_100)
  })

  it('gasRefundTracer lists the accesses that were refunded', async () => {
    const tracer = { tracer: 'gasRefundTracer' }
    const block = (await verifier.eth('debug_traceBlockByHash', String(refunded.blockHash), tracer)) as Json[]
    const accesses = block.map(({ result }) => (result as Json).accesses)
    const slot = `0x${'00'.repeat(32)}`
    const why = [{ address: CONTRACT, slot, gas: toQuantity(2_100), warmedBy: '0x1' }]
    expect(accesses).toEqual([[], [], why, []])
    expect(await verifier.eth('debug_traceTransaction', String((await second()).hash), tracer)).toEqual(
      block[2]?.result,
    )
  })

  it('refuses to trace a block with an invalid post-exec transaction', async () => {
    const raw = String(await verifier.eth('debug_getRawBlock', String(refunded.blockHash)))
    // A refund of the deposit.
    const ofDeposit = raw.replace('c4028208', 'c4808208')
    await expect(verifier.eth('debug_traceBlock', ofDeposit)).rejects.toThrow(
      'tracing failed: invalid post-exec transaction',
    )
    expect(await verifier.eth('debug_traceBlock', raw)).toHaveLength(4)
  })

  it('refuses a post-exec transaction of a client', async () => {
    const raw = toHex(lastOf(refunded))
    await expect(verifier.eth('eth_sendRawTransaction', raw)).rejects.toThrow('transaction type not supported')
  })

  it('estimates, simulates and returns fees on a block with refunds as on other blocks', async () => {
    const request = { from: ZERO_ADDRESS, to: CONTRACT }
    const at = (block: string) => verifier.eth('eth_estimateGas', request, block)
    expect(await at(String(refunded.blockHash))).toBe(await at(String(refunded.parentHash)))
    const [simulated] = (await verifier.eth(
      'eth_simulateV1',
      { blockStateCalls: [{ calls: [request, request] }], validation: false },
      String(refunded.blockHash),
    )) as [Json]
    // It has no refunds: both calls pay for the cold slot.
    const gas = (simulated.calls as Json[]).map(({ gasUsed, status }) => ({ gasUsed: Number(gasUsed), status }))
    expect(gas).toMatchObject([{ status: '0x1' }, { status: '0x1' }])
    expect(simulated.transactions).toHaveLength(2)
    const history = (await verifier.eth('eth_feeHistory', '0x1', String(refunded.blockNumber), [0, 50, 100])) as Json
    const tip = toQuantity(1_000_000)
    expect(history.reward).toEqual([['0x0', tip, tip]])
    expect(await verifier.eth('eth_maxPriorityFeePerGas')).toBe(tip)
    const logs = await verifier.eth('eth_getLogs', { blockHash: String(refunded.blockHash) })
    expect(logs).toMatchObject([{ transactionIndex: '0x1' }, { transactionIndex: '0x2' }])
  })
})

describe('a block that breaks a rule of the post-exec transaction', () => {
  // All blocks have the same parent.
  let verifier: Started
  let refunded: Json
  beforeAll(async () => {
    const pair = await startRefunding()
    ;({ verifier, refunded } = pair)
    return () => pair[Symbol.asyncDispose]()
  })

  const number = () => Number(refunded.blockNumber)
  const postExec = (refunds: [number, bigint][], blockNumber = number()) =>
    encodePostExecTx({
      version: 1,
      blockNumber,
      refunds: refunds.map(([index, gasRefund]) => ({ index, gasRefund })),
    })
  const good = () => lastOf(refunded)
  const bad = (last: Uint8Array, ...more: Uint8Array[]) => [...transactions().slice(0, 3), last, ...more]
  const transactions = () => (refunded.transactions as Hex[]).map((raw) => fromHex(raw))

  it.each([
    ['two post-exec transactions', () => bad(good(), good()), 'transactions 3 and 4 are both of type 0x7d'],
    [
      'not the last transaction',
      () => {
        const [info, first, second] = transactions() as [Uint8Array, Uint8Array, Uint8Array]
        return [info, first, postExec([[1, 5n]]), second]
      },
      'transaction 2 of type 0x7d is not the last one',
    ],
    [
      'of another version',
      () => bad(concatBytes(Uint8Array.of(0x7d), encodeRlp([2, number(), [[2, 5]]]))),
      'version 2',
    ],
    ['for another block', () => bad(postExec([[2, 5n]], number() + 1)), 'found in block'],
    ['without refunds', () => bad(postExec([])), 'it refunds nothing'],
    ['with a refund of zero', () => bad(postExec([[2, 0n]])), 'the refund of transaction 2 is zero'],
    [
      'with descending indexes',
      () =>
        bad(
          postExec([
            [2, 5n],
            [1, 5n],
          ]),
        ),
      'transaction 1 is listed after 2',
    ],
    [
      'with a refund for a deposit',
      () => bad(postExec([[0, 5n]])),
      'transaction 0 cannot be refunded: expected a signed transaction',
    ],
    [
      'with a refund for itself',
      () => bad(postExec([[3, 5n]])),
      'transaction 3 cannot be refunded: expected a signed transaction',
    ],
    [
      'with a refund above the gas used',
      () => bad(postExec([[2, 100_000n]])),
      'the refund of 100000 is more than the gas used',
    ],
    ['with a malformed encoding', () => bad(Uint8Array.of(0x7d, 0xc0)), 'post-exec'],
  ])('is invalid: %s', async (_, make, reason) => {
    const encodings = make()
    const status = await importWith(verifier, refunded, encodings)
    expect(status).toMatchObject({ status: 'INVALID' })
    expect(status.validationError).toContain(reason)
    // Building such a block is refused at once. The rollup node then derives a block of deposits only.
    await expect(buildFrom(verifier, refunded, encodings)).rejects.toMatchObject({
      rpcCode: -38003,
      data: { err: expect.stringContaining(reason) },
    })
  })

  it('is invalid if its gas used does not match its refunds', async () => {
    const status = await importWith(verifier, refunded, transactions().slice(0, 3))
    expect(status).toMatchObject({ status: 'INVALID', validationError: expect.stringContaining('invalid gas used') })
    const less = await importWith(verifier, refunded, bad(postExec([[2, 2_099n]])))
    expect(less).toMatchObject({ status: 'INVALID', validationError: expect.stringContaining('invalid gas used') })
  })

  it('is invalid before Lagoon, when opting in has no effect', async () => {
    const FAR = 5_000_000_000
    const early = await start(FAR)
    try {
      early.node.sdm.isOn = true
      const signed = [0, 1].map((index) =>
        signTransaction(DEV_KEYS[index] ?? DEV_KEYS[0], { to: CONTRACT, gasLimit: 100_000n }),
      )
      for (const tx of signed) await early.node.pool.add(tx)
      const payload = await early.driver.build()
      expect(typesOf(payload)).toEqual([0x7e, 2, 2])
      expect(await early.eth('admin_sdmStatus')).toMatchObject({
        postExecOptIn: true,
        protocolActive: false,
        effective: false,
        activationTime: FAR,
      })
      expect(await early.eth('admin_sdmStatus', toQuantity(FAR))).toMatchObject({ effective: true })
      const refund = encodePostExecTx({ version: 1, blockNumber: 1, refunds: [{ index: 2, gasRefund: 5n }] })
      const status = await importWith(early, payload, [
        ...(payload.transactions as Hex[]).map((raw) => fromHex(raw)),
        refund,
      ])
      expect(status).toMatchObject({ status: 'INVALID' })
      expect(status.validationError).toContain('of type 0x7d before Lagoon')
      const receipts = (await early.eth('eth_getBlockReceipts', 'latest')) as Json[]
      for (const receipt of receipts) expect(receipt).not.toHaveProperty('opGasRefund')
    } finally {
      await early.node.close()
    }
  })
})

type Started = Awaited<ReturnType<typeof start>>

/** The payload with other transactions and the matching hash. */
async function importWith({ node }: Started, payload: Json, transactions: Uint8Array[]): Promise<Json> {
  const json = { ...payload, transactions: transactions.map(toHex) }
  const blockHash = payloadBlockHash({ payload: payloadFromJson(json), parentBeaconBlockRoot: ZERO_HASH })
  return (await node.engine.request('engine_newPayloadV4', [{ ...json, blockHash }, [], ZERO_HASH, []])) as Json
}

async function buildFrom({ node, driver }: Started, payload: Json, transactions: Uint8Array[]): Promise<unknown> {
  const { parentHash, json } = await driver.attributes({ parent: payload.parentHash as Hex, noTxPool: true })
  const attributes = { ...json, transactions: transactions.map(toHex) }
  return node.engine.request('engine_forkchoiceUpdatedV3', [forkchoice(parentHash), attributes])
}
