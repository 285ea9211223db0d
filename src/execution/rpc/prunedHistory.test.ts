import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BlockDriver } from '../testUtils/blockDriver.ts'
import { type ExecutionNode, startExecutionNode } from '../testUtils/executionNode.ts'
import { loadRecordedRpc } from '../testUtils/recordedRpc.ts'
import { createCallMethods } from './methods/callMethods.ts'

const { genesis, rollup } = loadRecordedRpc('holocene-span-brotli-calldata')
const NOBODY = `0x${'77'.repeat(20)}`

describe('a pruned state', () => {
  let node: ExecutionNode

  beforeAll(async () => {
    node = await startExecutionNode(genesis)
    const driver = new BlockDriver(node.engine, rollup)
    for (let block = 0; block < 140; block++) await driver.build()
  })
  afterAll(() => node.close())

  it.each([
    ['eth_getBalance', [NOBODY, '0x1']],
    ['eth_getProof', [NOBODY, [], '0x1']],
    ['eth_call', [{ to: NOBODY }, '0x1']],
    ['eth_estimateGas', [{ to: NOBODY }, '0x1']],
  ])('is answered with code 4444 by %s', async (method, params) => {
    await expect(node.eth.request(method, params)).rejects.toMatchObject({
      rpcCode: 4444,
      message: expect.stringMatching(/^pruned history unavailable: .*block 1\b/),
    })
  })
})

it('an estimate never exceeds --rpc.gascap', async () => {
  const node = await startExecutionNode(genesis)
  try {
    // Fifty slots written for the first time: 22,100 gas each.
    const data = `0x${Array.from({ length: 50 }, (_, slot) => `600160${slot.toString(16).padStart(2, '0')}55`).join('')}`
    const estimate = async (callGasCap: bigint) => {
      const run = createCallMethods(node.chain, { callGasCap }).eth_estimateGas
      return run?.([{ from: NOBODY, data }], { signal: new AbortController().signal, isOver: () => false })
    }
    expect(Number(await estimate(0n))).toBeGreaterThan(1_000_000)
    await expect(estimate(500_000n)).rejects.toThrow('gas required exceeds allowance (500000)')
  } finally {
    await node.close()
  }
})
