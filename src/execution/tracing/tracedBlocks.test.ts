import { afterAll, beforeAll, expect, it } from 'vitest'
import { fromHex, type Hex, toQuantity } from '../../lib/hex.ts'
import { BlockDriver } from '../testUtils/blockDriver.ts'
import { type ExecutionNode, startExecutionNode } from '../testUtils/executionNode.ts'
import { deposit } from '../testUtils/memoryBlock.ts'
import { loadRecordedRpc } from '../testUtils/recordedRpc.ts'
import { DEV_ADDRESSES, DEV_KEYS, signTransaction } from '../testUtils/signTransaction.ts'

// Traces of blocks that are built here. The other tests of tracers read one head block.

const holocene = loadRecordedRpc('holocene-span-brotli-calldata')
const SENDER = DEV_ADDRESSES[0]
const NOBODY: Hex = '0x00000000000000000000000000000000000abcde'

let node: ExecutionNode
beforeAll(async () => {
  node = await startExecutionNode(holocene.genesis)
})
afterAll(() => node.close())

it('the limit of an answer holds for all transactions of a block together', async () => {
  // Passes 64 kB on to the identity precompile until it has no gas.
  const data = fromHex('0x5b5f5f61ffff5f60045afa50600056')
  const nonce = Number(await node.eth.request('eth_getTransactionCount', [SENDER, 'latest']))
  const sent = [nonce, nonce + 1].map((each) =>
    signTransaction(DEV_KEYS[0], { nonce: each, to: null, data, gasLimit: 800_000n }),
  )
  await new BlockDriver(node.engine, holocene.rollup).build({
    transactions: sent.map(({ raw }) => raw),
    noTxPool: true,
  })
  const options = { tracer: 'callTracer' }
  const traceOf = (traced: Hex) => node.eth.request('debug_traceTransaction', [traced, options])
  for (const { hash: each } of sent) {
    expect(await traceOf(each)).toMatchObject({ type: 'CREATE', error: 'out of gas' })
  }
  await expect(node.eth.request('debug_traceBlockByNumber', ['latest', options])).rejects.toMatchObject({
    rpcCode: -32005,
    message: expect.stringMatching(/50000000.*single transactions/),
  })
})

it('callTracer shows a deposit that fails before it runs', async () => {
  const fields = { from: SENDER, data: Uint8Array.of(0xfe) }
  const value = 10n ** 30n
  const deposits = [
    deposit({ ...fields, to: NOBODY, value, gasLimit: 50_000n }),
    deposit({ ...fields, to: NOBODY, gasLimit: 20_000n }),
    deposit({ ...fields, to: null, value, gasLimit: 60_000n }),
  ]
  const { blockHash = null } = await new BlockDriver(node.engine, holocene.rollup).build({
    transactions: deposits.map(({ raw }) => raw),
  })
  const traced = await node.eth.request('debug_traceBlockByHash', [blockHash, { tracer: 'callTracer' }])
  const shown = { from: SENDER, input: '0xfe', value: toQuantity(value), error: 'failed deposit transaction' }
  expect((traced as { result: unknown }[]).slice(1).map(({ result }) => result)).toEqual([
    { ...shown, type: 'CALL', to: NOBODY, gas: '0xc350', gasUsed: '0xc350' },
    { ...shown, type: 'CALL', to: NOBODY, gas: '0x4e20', gasUsed: '0x4e20', value: '0x0' },
    { ...shown, type: 'CREATE', gas: '0xea60', gasUsed: '0xea60' },
  ])
})
