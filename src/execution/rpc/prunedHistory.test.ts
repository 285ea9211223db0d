import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ExecutionNode, startExecutionNode } from '../testUtils/executionNode.ts'
import { loadRecordedRpc } from '../testUtils/recordedRpc.ts'
import { createCallMethods } from './callMethods.ts'
import { UNHURRIED } from './pace.ts'

const { genesis } = loadRecordedRpc('holocene-span-brotli-calldata')
const NOBODY = `0x${'77'.repeat(20)}`

describe('what the node keeps no more', () => {
  let node: ExecutionNode

  beforeAll(async () => {
    node = await startExecutionNode(genesis)
  })
  afterAll(() => node.close())
  const ask = (method: string, ...params: unknown[]) => node.eth.request(method, params)

  it.each([
    ['eth_getBalance', [NOBODY, 'latest']],
    ['eth_getProof', [NOBODY, [], 'latest']],
    ['eth_call', [{ to: NOBODY }, 'latest']],
    ['eth_estimateGas', [{ to: NOBODY }, 'latest']],
  ])('is answered with code 4444 by %s', async (method, params) => {
    const { hasState, stateAt } = { hasState: Reflect.get(node.chain, 'hasState'), stateAt: node.chain.stateAt }
    Reflect.set(node.chain, 'hasState', () => false)
    node.chain.stateAt = async () => undefined
    try {
      await expect(ask(method, ...params)).rejects.toMatchObject({
        rpcCode: 4444,
        message: 'pruned history unavailable: the state of block 0 is not kept any more',
      })
    } finally {
      Reflect.set(node.chain, 'hasState', hasState)
      node.chain.stateAt = stateAt
    }
  })
})

it('an estimate looks for no more gas than --rpc.gascap', async () => {
  const node = await startExecutionNode(genesis)
  try {
    // Fifty slots written anew: 22,100 gas each.
    const data = `0x${Array.from({ length: 50 }, (_, slot) => `600160${slot.toString(16).padStart(2, '0')}55`).join('')}`
    const estimate = async (callGasCap: bigint) => {
      const run = createCallMethods(node.chain, { callGasCap }, UNHURRIED).eth_estimateGas
      return run?.([{ from: NOBODY, data }], { signal: new AbortController().signal, isOver: () => false })
    }
    expect(Number(await estimate(0n))).toBeGreaterThan(1_000_000)
    await expect(estimate(500_000n)).rejects.toThrow('gas required exceeds allowance (500000)')
  } finally {
    await node.close()
  }
})
