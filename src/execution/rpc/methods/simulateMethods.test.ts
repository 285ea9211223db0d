import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { JsonValue } from '../../../jsonRpc/types.ts'
import { type Hex, toQuantity } from '../../../lib/hex.ts'
import { Trie } from '../../state/trie.ts'
import { type ExecutionNode, startExecutionNode } from '../../testUtils/executionNode.ts'
import { loadRecordedRpc } from '../../testUtils/recordedRpc.ts'
import { DEV_ADDRESSES } from '../../testUtils/signTransaction.ts'
import { DEFAULT_RPC_OPTIONS } from '../options.ts'
import { createReadMethods } from './readMethods.ts'

// test/interop/opGethSimulate.test.ts compares all cases with geth.

const NOBODY: Hex = '0x00000000000000000000000000000000000abcde'
const OTHER: Hex = '0x00000000000000000000000000000000000fedcb'
/** Has a value in slot 0. */
const STORED: Hex = '0x420000000000000000000000000000000000000f'
const from: Hex = DEV_ADDRESSES[0]
/** Counts in slot 0 and returns the count. */
const COUNTER: Hex = '0x5f54600101805f555f5260205ff3'

let node: ExecutionNode

beforeAll(async () => {
  node = await startExecutionNode(loadRecordedRpc('holocene-span-brotli-calldata').genesis)
})
afterAll(() => node.close())

const word = (value: number): Hex => `0x${value.toString(16).padStart(64, '0')}`

interface Options {
  block?: string
  gasCap?: bigint
  validation?: boolean
  traceTransfers?: boolean
}

async function simulate(
  blockStateCalls: JsonValue[],
  { block = 'latest', gasCap = 50_000_000n, ...options }: Options = {},
) {
  const methods = createReadMethods(node.chain, { ...DEFAULT_RPC_OPTIONS, callGasCap: gasCap })
  const params: JsonValue[] = [{ blockStateCalls, ...options }, block]
  const answer = await methods.eth_simulateV1?.(params, { signal: new AbortController().signal, isOver: () => false })
  return answer as { [name: string]: JsonValue; calls: { [name: string]: JsonValue }[] }[]
}

describe('eth_simulateV1', () => {
  it('is refused when its answer would have too many bytes', async () => {
    const stateOverrides = { [NOBODY]: { code: '0x620199805ff3' } }
    const block = { blockOverrides: { gasLimit: '0x3b9aca00' }, stateOverrides, calls: Array(300).fill({ to: NOBODY }) }
    await expect(simulate([block])).rejects.toMatchObject({
      rpcCode: -32005,
      message: expect.stringMatching(/50000000.*fewer calls/),
    })
  })

  it('returns the same blocks as geth 1.17', async () => {
    const blocks = await simulate(
      [
        {
          stateOverrides: {
            [NOBODY]: { code: COUNTER, balance: '0x64' },
            [OTHER]: { code: '0x60aa5f5fa15f5ffd' },
          },
          calls: [
            { from, to: NOBODY, value: '0x1' },
            { from, to: OTHER },
            { from, to: NOBODY, gasPrice: '0x1', gas: '0x10000' },
          ],
        },
        {
          blockOverrides: {
            number: '0x4',
            time: '0x7fffffff',
            feeRecipient: NOBODY,
            baseFeePerGas: '0x7',
            gasLimit: '0x100000',
            prevRandao: `0x${'42'.repeat(32)}`,
          },
          calls: [{ from, data: '0x6001600081600b8239f3' }],
        },
      ],
      { traceTransfers: true, block: '0x0' },
    )
    expect(blocks.map(({ hash }) => hash)).toEqual([
      '0xc3ce6658081770c8e221f918d9975615a327639018be788c30087961c796d48a',
      '0x4c53555947c12aebd12e507bd5b10cd83f9937ef55e819d1755dfaf32c348437',
      '0xed6e0b231a16df5ca5e0998ee722c5450120cf75912c3759fae924cec0cd5415',
      '0x86d846bb0c0e37d39375b2565c8cfc9af7df49043e38e4174a6b446149ea17fc',
    ])
    expect(blocks[0]?.calls).toMatchObject([
      {
        status: '0x1',
        gasUsed: '0xa876',
        maxUsedGas: '0xa876',
        logs: [{ address: `0x${'ee'.repeat(20)}`, logIndex: '0x0', blockHash: blocks[0]?.hash }],
      },
      { status: '0x0', gasUsed: '0x5501', logs: [], error: { code: 3, message: 'execution reverted', data: '0x' } },
      { status: '0x1', returnData: `0x${'2'.padStart(64, '0')}` },
    ])
  })

  it('replaces a storage without reading the old one', async () => {
    const forEachNode = vi.spyOn(Trie.prototype, 'forEachNode')
    const replaced = await simulate([
      { stateOverrides: { [STORED]: { state: { [word(1)]: word(7) } } } },
      { stateOverrides: { [STORED]: { state: { [word(2)]: word(7) } } } },
    ])
    expect(forEachNode).not.toHaveBeenCalled()
    const changed = await simulate([
      { stateOverrides: { [STORED]: { stateDiff: { [word(0)]: word(0), [word(1)]: word(7) } } } },
      { stateOverrides: { [STORED]: { stateDiff: { [word(1)]: word(0), [word(2)]: word(7) } } } },
    ])
    expect(replaced.map(({ stateRoot }) => stateRoot)).toEqual(changed.map(({ stateRoot }) => stateRoot))
  })

  it('shows the gas used before refunds', async () => {
    // Clears a slot that holds something.
    const code = '0x600060005500'
    const state = { [NOBODY]: { code, stateDiff: { [`0x${'00'.repeat(32)}`]: `0x${'01'.padStart(64, '0')}` } } }
    const [block] = await simulate([{ stateOverrides: state, calls: [{ from, to: NOBODY, gas: '0x20000' }] }])
    // 26,006 gas, of which EIP-3529 refunds 4,800.
    expect(block?.calls).toMatchObject([{ status: '0x1', gasUsed: toQuantity(21_206), maxUsedGas: toQuantity(26_006) }])
  })

  it('marks failed calls that got less gas than requested', async () => {
    const stateOverrides = { [NOBODY]: { code: '0xfe' } }
    const calls = [
      { from, to: NOBODY, gas: '0x5300' },
      { from, to: NOBODY, gas: '0xffff' },
    ]
    const [block] = await simulate([{ stateOverrides, calls }], { gasCap: 50_000n })
    const invalid = 'invalid opcode: INVALID'
    expect(block?.calls).toMatchObject([
      { error: { code: -32015, message: invalid } },
      { error: { code: -32015, message: `${invalid} (gas limit was capped by the RPC server's global gas cap)` } },
    ])
  })

  it('returns the error codes of execution-apis for invalid calls', async () => {
    const call = { from, to: NOBODY }
    const priced = { ...call, maxFeePerGas: '0x77359400', gas: '0x10000' }
    const refused: [code: number, blocks: JsonValue[], options?: Options][] = [
      [-32602, []],
      [-38026, Array.from({ length: 257 }, () => ({}))],
      [-38026, [{ blockOverrides: { number: '0x1000' } }]],
      [-38020, [{ blockOverrides: { number: '0x0' } }]],
      [-38021, [{ blockOverrides: { time: '0x1' } }]],
      [-38010, [{ calls: [priced, { ...priced, nonce: '0x0' }] }], { validation: true }],
      [-38011, [{ calls: [{ ...priced, nonce: '0x9' }] }], { validation: true }],
      [-38013, [{ calls: [{ ...call, gas: '0x5207' }] }]],
      [-38014, [{ calls: [{ from: NOBODY, to: OTHER, value: '0x1' }] }]],
      [-38015, [{ blockOverrides: { gasLimit: '0x5208' }, calls: [{ ...call, gas: '0x5209' }] }]],
      [-38025, [{ calls: [{ from, data: `0x${'00'.repeat(49_153)}` }] }]],
      [-32602, [{ calls: [call] }], { validation: true }],
      [-32000, [{ calls: [{ ...call, chainId: '0x99' }] }]],
      [-38013, [{ calls: [call, { ...call, gas: '0x5208' }] }], { gasCap: 21_000n }],
    ]
    for (const [rpcCode, blocks, options] of refused) {
      await expect(simulate(blocks, options), JSON.stringify(blocks).slice(0, 200)).rejects.toMatchObject({ rpcCode })
    }
  })

  it('computes a base fee for children of simulated blocks, for which geth has no parameters', async () => {
    const [first, second] = await simulate([{}, {}], { validation: true })
    expect(BigInt(String(first?.baseFeePerGas))).toBeGreaterThan(BigInt(String(second?.baseFeePerGas)))
    expect(second?.baseFeePerGas).not.toBe('0x0')
  })

  it('ends when its client disconnects', async () => {
    const methods = createReadMethods(node.chain, { ...DEFAULT_RPC_OPTIONS, callGasCap: 0n })
    const endless = { blockOverrides: { gasLimit: '0xffffffffffff' }, calls: [{ to: NOBODY }] }
    const params = [{ blockStateCalls: [{ ...endless, stateOverrides: { [NOBODY]: { code: '0x5b5f56' } } }] }]
    const client = new AbortController()
    const answer = methods.eth_simulateV1?.(params, { signal: client.signal, isOver: () => client.signal.aborted })
    client.abort(new Error('gone'))
    await expect(answer).rejects.toThrow('gone')
  })
})
