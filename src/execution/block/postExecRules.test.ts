import { describe, expect, it } from 'vitest'
import { concatBytes } from '../../lib/bytes.ts'
import { encodeRlp } from '../../lib/rlp.ts'
import { encodePostExecTx } from '../../rollup/protocol/transaction/postExec.ts'
import { rulesAt } from '../config/chainConfig.ts'
import { deposit } from '../testUtils/memoryBlock.ts'
import { signTransaction, testKey } from '../testUtils/signTransaction.ts'
import { type PostExecProblem, readRefunds } from './postExecRules.ts'

const NUMBER = 7
const LAGOON = { number: NUMBER, rules: rulesAt({ forks: { lagoon: 0 } }, 0) }
const KARST = { number: NUMBER, rules: rulesAt({ forks: { karst: 0 } }, 0) }
const DEPOSIT = deposit().raw
const [FIRST, SECOND] = [0, 1].map((nonce) => signTransaction(testKey(1), { nonce }).raw) as [Uint8Array, Uint8Array]

/** Refunds by index. */
function postExec(refunds: [index: number, gasRefund: bigint][], blockNumber = NUMBER): Uint8Array {
  const entries = refunds.map(([index, gasRefund]) => ({ index, gasRefund }))
  return encodePostExecTx({ version: 1, blockNumber, refunds: entries })
}

const GOOD = postExec([
  [1, 5n],
  [2, 6n],
])
const OF_VERSION_2 = concatBytes(Uint8Array.of(0x7d), encodeRlp([2, NUMBER, [[1, 5]]]))

describe('the refunds of a block', () => {
  it('are read from its last transaction, by index', () => {
    expect([...readRefunds([DEPOSIT, FIRST, SECOND, GOOD], LAGOON)]).toEqual([
      [1, 5n],
      [2, 6n],
    ])
    expect([...readRefunds([DEPOSIT, FIRST, SECOND, postExec([[2, 6n]])], LAGOON)]).toEqual([[2, 6n]])
  })

  it('are empty without a post-exec transaction, on any fork', () => {
    for (const block of [LAGOON, KARST]) expect(readRefunds([DEPOSIT, FIRST], block).size).toBe(0)
  })

  const cases: { id: string; problem: PostExecProblem; transactions: Uint8Array[]; block?: typeof LAGOON }[] = [
    {
      id: 'before Lagoon',
      problem: 'post-exec-before-lagoon',
      transactions: [DEPOSIT, FIRST, SECOND, GOOD],
      block: KARST,
    },
    { id: 'twice', problem: 'post-exec-twice', transactions: [DEPOSIT, FIRST, SECOND, GOOD, GOOD] },
    { id: 'before another transaction', problem: 'post-exec-not-last', transactions: [DEPOSIT, FIRST, GOOD, SECOND] },
    { id: 'of another version', problem: 'post-exec-version', transactions: [DEPOSIT, FIRST, OF_VERSION_2] },
    {
      id: 'of another block',
      problem: 'post-exec-block-number',
      transactions: [DEPOSIT, FIRST, postExec([[1, 5n]], NUMBER - 1)],
    },
    { id: 'without refunds', problem: 'no-refunds', transactions: [DEPOSIT, FIRST, postExec([])] },
    { id: 'with a refund of zero', problem: 'refund-zero', transactions: [DEPOSIT, FIRST, postExec([[1, 0n]])] },
    {
      id: 'with falling indexes',
      problem: 'refund-order',
      transactions: [
        DEPOSIT,
        FIRST,
        SECOND,
        postExec([
          [2, 6n],
          [1, 5n],
        ]),
      ],
    },
    {
      id: 'with an index twice',
      problem: 'refund-order',
      transactions: [
        DEPOSIT,
        FIRST,
        postExec([
          [1, 5n],
          [1, 5n],
        ]),
      ],
    },
    { id: 'that refunds a deposit', problem: 'refund-target', transactions: [DEPOSIT, FIRST, postExec([[0, 5n]])] },
    { id: 'that refunds itself', problem: 'refund-target', transactions: [DEPOSIT, FIRST, postExec([[2, 5n]])] },
    { id: 'that refunds nobody', problem: 'refund-target', transactions: [DEPOSIT, FIRST, postExec([[3, 5n]])] },
  ]
  it.each(cases)('make a block invalid: $id', ({ problem, transactions, block = LAGOON }) => {
    expect(() => readRefunds(transactions, block)).toThrow(
      expect.objectContaining({ code: 'invalid-block', details: { problem } }),
    )
  })
})
