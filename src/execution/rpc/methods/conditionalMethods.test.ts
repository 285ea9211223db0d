import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { fromHex, type Hex, toHex, toQuantity } from '../../../lib/hex.ts'
import { BlockDriver } from '../../testUtils/blockDriver.ts'
import { type ExecutionNode, startExecutionNode } from '../../testUtils/executionNode.ts'
import { loadRecordedRpc } from '../../testUtils/recordedRpc.ts'
import { DEV_ADDRESSES, DEV_KEYS, signTransaction } from '../../testUtils/signTransaction.ts'

const holocene = loadRecordedRpc('holocene-span-brotli-calldata')
const word = (value: number): Hex => `0x${value.toString(16).padStart(64, '0')}`
/** Stores its value in slot 0. */
const STORE = fromHex('0x6004600c60003960046000f3345f5500')

let node: ExecutionNode
let driver: BlockDriver
let store: Hex
let nonce: number

beforeEach(async () => {
  nonce = 1
  node = await startExecutionNode(holocene.genesis, { conditionalLookupsPerSecond: 5_000 })
  driver = new BlockDriver(node.engine, holocene.rollup)
  await node.eth.request('eth_sendRawTransaction', [
    toHex(signTransaction(DEV_KEYS[0], { to: null, data: STORE, gasLimit: 100_000n }).raw),
  ])
  await driver.build()
  store = ((await node.chain.receipts(node.chain.head().hash))?.at(-1)?.contractAddress ?? '0x') as Hex
  await driver.build()
})

afterEach(() => node.close())

async function send(condition: unknown): Promise<Hex> {
  const { raw } = signTransaction(DEV_KEYS[0], { nonce, to: DEV_ADDRESSES[1], value: 1n })
  const hash = (await node.eth.request('eth_sendRawTransactionConditional', [toHex(raw), condition])) as Hex
  nonce += 1
  return hash
}
const refusal = async (condition: unknown) => {
  const answer = await send(condition).catch((error: unknown) => error)
  return answer
}
/** Transactions of the head block. */
const mined = async () => (await node.chain.blockByHash(node.chain.head().hash))?.transactions.map(({ hash }) => hash)

describe('eth_sendRawTransactionConditional', () => {
  it('mines a transaction whose condition holds', async () => {
    const { number, timestamp } = node.chain.head()
    const root = (await (await node.chain.stateAt(node.chain.head().hash))?.account(store))?.storageRoot
    const hashes = [
      await send({ knownAccounts: { [store]: { [word(0)]: word(0) } }, blockNumberMin: toQuantity(number) }),
      await send({
        knownAccounts: { [store]: root },
        timestampMin: timestamp,
        timestampMax: String(timestamp + 1_000),
      }),
    ]
    await driver.build()
    expect(await mined()).toEqual(expect.arrayContaining(hashes))
  })

  it('refuses a condition that does not hold, is malformed, or costs too many lookups', async () => {
    const { number, timestamp } = node.chain.head()
    const slots = Object.fromEntries(Array.from({ length: 1_000 }, (_, slot) => [word(slot), word(0)]))
    expect(await refusal({ blockNumberMin: 5, blockNumberMax: 4 })).toMatchObject({
      rpcCode: -32003,
      message: expect.stringMatching(/^failed conditional validation/),
    })
    expect(await refusal({ blockNumberMax: number - 1 })).toMatchObject({
      rpcCode: -32003,
      message: expect.stringMatching(/^failed header check/),
    })
    expect(await refusal({ timestampMin: timestamp + 1 })).toMatchObject({
      rpcCode: -32003,
      message: expect.stringMatching(/^failed header check/),
    })
    expect(await refusal({ knownAccounts: { [store]: { [word(0)]: word(9) } } })).toMatchObject({
      rpcCode: -32003,
      message: expect.stringMatching(/^failed state check/),
    })
    expect(await refusal({ knownAccounts: { [store]: word(9) } })).toMatchObject({
      rpcCode: -32003,
      message: expect.stringMatching(/^failed state check/),
    })
    expect(await refusal({ knownAccounts: { [store]: slots } })).toMatchObject({
      rpcCode: -32005,
      message: 'conditional cost, 1001, exceeded max: 1000',
    })
    expect(await refusal({ knownAccounts: 5 })).toMatchObject({ rpcCode: -32602 })
  })

  it('drops a pool transaction whose condition does not hold in the block under construction', async () => {
    const hash = await send({ knownAccounts: { [store]: { [word(0)]: word(0) } } })
    const change = signTransaction(DEV_KEYS[1], {
      to: store,
      value: 7n,
      gasLimit: 100_000n,
      maxPriorityFeePerGas: 10n ** 9n,
    })
    await node.eth.request('eth_sendRawTransaction', [toHex(change.raw)])
    await driver.build()
    expect(await mined()).toContain(change.hash)
    expect(await mined()).not.toContain(hash)
    await expect.poll(() => node.pool.get(hash)).toBeUndefined()
  })

  it('limits lookups per second, and is not served without its flag', async () => {
    const slots = Object.fromEntries(Array.from({ length: 900 }, (_, slot) => [word(slot + 1), word(0)]))
    const answers: unknown[] = []
    for (let count = 0; count < 40; count++)
      answers.push(await refusal({ knownAccounts: { [store]: slots }, blockNumberMax: 0 }))
    expect(answers).toContainEqual(expect.objectContaining({ rpcCode: -32005, message: 'cost 902 rate limited' }))
    const other = await startExecutionNode(holocene.genesis)
    const { raw } = signTransaction(DEV_KEYS[0])
    const answer = other.eth.request('eth_sendRawTransactionConditional', [toHex(raw), {}])
    await expect(answer).rejects.toMatchObject({ rpcCode: -32601 })
    await other.close()
  })
})
