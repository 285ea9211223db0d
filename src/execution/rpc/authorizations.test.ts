import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Hex, toQuantity } from '../../lib/hex.ts'
import { type ExecutionNode, startExecutionNode } from '../testUtils/executionNode.ts'
import { loadRecordedRpc } from '../testUtils/recordedRpc.ts'
import { DEV_ADDRESSES, DEV_KEYS, signAuthorization } from '../testUtils/signTransaction.ts'
import { AnswerBudget } from '../tracing/answerBudget.ts'
import { CallTracer } from '../tracing/callTracer.ts'
import { PrestateTracer } from '../tracing/prestateTracer.ts'

// Calls as set-code transactions (EIP-7702). test/interop/opGethSimulate.test.ts compares the answers with geth's.

const [SENDER, AUTHORITY] = DEV_ADDRESSES
const DELEGATE: Hex = '0x00000000000000000000000000000000000abcde'
/** Returns the address as which it runs. */
const overrides = { [DELEGATE]: { code: '0x305f5260205ff3' } }
const { genesis, rollup } = loadRecordedRpc('2026-holocene-isthmus-jovian-calldata')
const block = { time: toQuantity(Number(rollup.isthmus_time)) }
const authorizationList = [signAuthorization(DEV_KEYS[1], { address: DELEGATE })]
const call = { from: SENDER, to: AUTHORITY, authorizationList }
const asWord = (address: Hex) => `0x${address.slice(2).padStart(64, '0')}`
/** 21,000 for a transaction and 25,000 for its entry. */
const INTRINSIC_GAS = 46_000n

let node: ExecutionNode
const request = (method: string, ...params: unknown[]) => node.eth.request(method, params)

beforeAll(async () => {
  node = await startExecutionNode(genesis)
})
afterAll(() => node.close())

describe('the authorizations of a call', () => {
  it('set the code that the call runs', async () => {
    expect(await request('eth_call', call, 'latest', overrides, block)).toBe(asWord(AUTHORITY))
    expect(await request('eth_call', { ...call, authorizationList: null }, 'latest', overrides, block)).toBe('0x')
    const traced = { tracer: 'callTracer', stateOverrides: overrides, blockOverrides: block }
    expect(await request('debug_traceCall', call, 'latest', traced)).toMatchObject({ output: asWord(AUTHORITY) })
  })

  it('cost intrinsic gas', async () => {
    const estimate = BigInt(String(await request('eth_estimateGas', call, 'latest', overrides, block)))
    expect(estimate).toBeGreaterThan(INTRINSIC_GAS)
    expect(estimate).toBeLessThan(INTRINSIC_GAS + 1_000n)
    const simulated = { stateOverrides: overrides, blockOverrides: block, calls: [call] }
    const answer = await request(
      'eth_simulateV1',
      { blockStateCalls: [simulated], returnFullTransactions: true },
      'latest',
    )
    // An existing account gives a refund of 12,500, at most a fifth of all gas.
    const gasUsed = `0x${(INTRINSIC_GAS + 15n - (INTRINSIC_GAS + 15n) / 5n).toString(16)}`
    expect(answer).toMatchObject([
      {
        transactions: [{ type: '0x4', authorizationList }],
        calls: [{ status: '0x1', gasUsed, returnData: asWord(AUTHORITY) }],
      },
    ])
  })

  it('must not be empty, and are refused with a contract creation', async () => {
    for (const [change, text] of [
      [{ authorizationList: [] }, 'empty auth list'],
      [{ to: null }, 'cannot be used to create contract'],
      [{ authorizationList: [{ ...authorizationList[0], nonce: `0x1${'0'.repeat(16)}` }] }, '64 bits'],
      [{ authorizationList: Array.from({ length: 10_001 }, () => ({})) }, '10000'],
    ] as const) {
      await expect(request('eth_call', { ...call, ...change })).rejects.toThrow(text)
    }
  })

  it('are not recovered if the gas does not cover them', async () => {
    let recovered = 0
    const entry = {
      chainId: 0n,
      address: DELEGATE,
      nonce: 0n,
      yParity: 0,
      r: 1n,
      s: 1n,
      get authority() {
        recovered += 1
        return AUTHORITY
      },
    }
    const { chain } = node
    const place = { blockHash: chain.head().hash }
    const call = { to: AUTHORITY, gas: 50_000_000n, authorizationList: Array.from({ length: 10_000 }, () => entry) }
    const budget = new AnswerBudget('trace less')
    const prestate = { diffMode: false, disableCode: false, disableStorage: false, includeEmpty: false }
    for (const refused of [
      chain.call(call, place),
      chain.estimateGas(call, place),
      chain.traceCall(call, place, new PrestateTracer(prestate, budget)),
      chain.traceCall(call, place, new CallTracer({ withLog: false, onlyTopCall: false }, budget)),
    ]) {
      await expect(refused).rejects.toThrow(/intrinsic gas too low|exceeds allowance/)
    }
    expect(recovered).toBe(0)
    await chain.call({ ...call, authorizationList: [entry] }, place)
    expect(recovered).toBeGreaterThan(0)
  })
})
