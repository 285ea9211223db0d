import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { keccak256Hex } from '../../../lib/hash.ts'
import { fromHex, type Hex, toHex } from '../../../lib/hex.ts'
import { asObject } from '../../../lib/jsonReader.ts'
import { BlockDriver } from '../../testUtils/blockDriver.ts'
import { type ExecutionNode, startExecutionNode } from '../../testUtils/executionNode.ts'
import { loadRecordedRpc } from '../../testUtils/recordedRpc.ts'
import { DEV_ADDRESSES, DEV_KEYS, signTransaction } from '../../testUtils/signTransaction.ts'

// test/vectors/rebuiltBlocks.test.ts executes blocks on their witnesses alone.

const recording = loadRecordedRpc('2026-holocene-isthmus-jovian-calldata')
/** Stores the hash of the block three before in slot 0, and deploys one byte of code, STOP. */
const INIT_CODE = fromHex('0x60034303405f5560016000f3')

let node: ExecutionNode
let driver: BlockDriver
beforeAll(async () => {
  node = await startExecutionNode(recording.genesis)
  driver = new BlockDriver(node.engine, recording.rollup)
})
afterAll(async () => {
  await node.close()
  expect(node.unexpected).toEqual([])
})

const request = (method: string, ...params: unknown[]) => node.eth.request(method, params)

type Witness = Record<'state' | 'codes' | 'keys' | 'headers', Hex[]>

describe('a witness', () => {
  it('has the nodes, the code, the addresses and slots, and the headers down to BLOCKHASH', async () => {
    for (let count = 0; count < 3; count++) await driver.build()
    const { raw } = signTransaction(DEV_KEYS[0], { to: null, data: INIT_CODE, gasLimit: 300_000n })
    const attributes = await driver.attributes({ transactions: [raw], noTxPool: true })
    const block = await driver.build({ transactions: [raw], noTxPool: true })
    const parent = asObject(await request('eth_getBlockByHash', block.parentHash, false), 'parent')

    const byNumber = (await request('debug_executionWitness', block.blockNumber)) as Witness
    expect(byNumber.state.map((node) => keccak256Hex(fromHex(node)))).toContain(parent.stateRoot)
    expect(byNumber.keys).toContain(DEV_ADDRESSES[0])
    expect(byNumber.keys).toContain(`0x${'00'.repeat(32)}`)
    expect(byNumber.codes).toContain(
      await request('eth_getCode', '0x4200000000000000000000000000000000000015', 'latest'),
    )
    const before = await Promise.all(['0x1', '0x2', '0x3'].map((number) => request('debug_getRawHeader', number)))
    expect(byNumber.headers).toEqual(before)

    expect(await request('debug_executionWitnessByBlockHash', block.blockHash)).toEqual(byNumber)
    const ofPayload = (await request('debug_executePayload', attributes.parentHash, attributes.json)) as Witness
    expect(new Set(ofPayload.state)).toEqual(new Set(byNumber.state))
    expect(ofPayload.headers).toEqual(byNumber.headers)
  })

  it('of a block that was not executed is refused', async () => {
    await expect(request('debug_executionWitness', '0x0')).rejects.toThrow('genesis')
    await expect(request('debug_executionWitness', '0xffff')).rejects.toThrow('not found')
  })

  it('of attributes that cannot be executed is refused', async () => {
    const { parentHash, json } = await driver.attributes()
    const unknown = `0x${'11'.repeat(32)}`
    await expect(request('debug_executePayload', unknown, json)).rejects.toThrow(unknown)
    await expect(request('debug_executePayload', parentHash, {})).rejects.toThrow('timestamp')
    await expect(request('debug_executePayload', parentHash, { ...json, timestamp: '0x1' })).rejects.toThrow(
      'timestamp',
    )
    await expect(request('debug_executePayload', parentHash, { ...json, transactions: ['0x7e01'] })).rejects.toThrow(
      'transaction 0',
    )
  })
})

it('code is found under the key of a go-ethereum database', async () => {
  const code = await request('eth_getCode', '0x4200000000000000000000000000000000000015', 'latest')
  const hash = keccak256Hex(fromHex(String(code)))
  expect(await request('debug_dbGet', `0x63${hash.slice(2)}`)).toBe(code)
  for (const key of [hash, `0x63${toHex(new Uint8Array(32)).slice(2)}`, '0x']) {
    await expect(request('debug_dbGet', key)).rejects.toThrow('not found')
  }
})
