import fc from 'fast-check'
import { expect, it, onTestFinished } from 'vitest'
import { JsonRpcError, type JsonValue } from '../../jsonRpc/types.ts'
import { type Hex, toHex, toQuantity } from '../../lib/hex.ts'
import { propertyRuns } from '../../lib/testUtils/propertyRuns.ts'
import { BlockDriver } from '../testUtils/blockDriver.ts'
import { startExecutionNode } from '../testUtils/executionNode.ts'
import { loadRecordedRpc } from '../testUtils/recordedRpc.ts'
import { DEV_ADDRESSES } from '../testUtils/signTransaction.ts'

const { genesis, rollup } = loadRecordedRpc('holocene-span-brotli-calldata')
const [ADDRESS] = DEV_ADDRESSES
const OTHER: Hex = '0x00000000000000000000000000000000000abcde'
const HASH: Hex = `0x${'42'.repeat(32)}`
const METHODS = [
  ...['eth_call', 'eth_estimateGas', 'eth_createAccessList', 'eth_getLogs', 'eth_newFilter', 'eth_feeHistory'],
  ...['eth_getBlockByNumber', 'eth_getBlockByHash', 'eth_getBlockReceipts', 'eth_getProof', 'eth_getStorageAt'],
  ...['eth_getBalance', 'eth_getTransactionCount', 'eth_sendRawTransaction', 'eth_getTransactionByHash'],
  ...['eth_getFilterChanges', 'eth_getTransactionByBlockNumberAndIndex', 'txpool_contentFrom', 'web3_sha3'],
  ...['debug_getRawBlock', 'debug_getRawReceipts', 'eth_getHeaderByNumber', 'debug_traceTransaction'],
]
const ENGINE_METHODS = [
  ...[1, 2, 3].map((version) => `engine_forkchoiceUpdatedV${version}`),
  ...[1, 2, 3, 4].flatMap((version) => [`engine_newPayloadV${version}`, `engine_getPayloadV${version}`]),
  ...['engine_getPayloadBodiesByHashV1', 'engine_getPayloadBodiesByRangeV1', 'engine_exchangeCapabilities'],
  ...['engine_getClientVersionV1', 'engine_exchangeTransitionConfigurationV1'],
]
const plausible = fc.oneof(
  fc.constantFrom<JsonValue>('latest', 'pending', '0x0', '0x1', '0xffffffffffff', '0x', ADDRESS, HASH, null, true),
  fc.record({ to: fc.constantFrom(ADDRESS, OTHER, null), data: fc.uint8Array({ maxLength: 80 }).map(toHex) }),
  fc.record({ fromBlock: fc.constantFrom('0x0', 'latest', 'x'), topics: fc.array(fc.constantFrom(HASH, null)) }),
  fc.record({ gas: fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }).map(toQuantity), value: fc.constant('0x1') }),
  fc.array(fc.constantFrom<JsonValue>('0x1', HASH, 5), { maxLength: 3 }),
  fc.jsonValue().map((value) => value as JsonValue),
)
const params = fc.array(plausible, { maxLength: 4 })

it.each([
  ['eth', METHODS],
  ['engine', ENGINE_METHODS],
] as const)('arbitrary parameters cause no internal error in %s methods', async (port, methods) => {
  const node = await startExecutionNode(genesis)
  onTestFinished(() => node.close())
  const driver = new BlockDriver(node.engine, rollup)
  for (let block = 0; block < 2; block++) await driver.build()
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...methods), params, async (method, given) => {
      const [answer] = await node[port].batch([{ method, params: given }])
      if (answer instanceof JsonRpcError) expect(answer.rpcCode, answer.message).not.toBe(-32603)
    }),
    { numRuns: propertyRuns(400) },
  )
  expect(node.unexpected).toEqual([])
})
