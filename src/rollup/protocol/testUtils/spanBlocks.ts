import fc from 'fast-check'
import { concatBytes } from '../../../lib/bytes.ts'
import { encodeRlp } from '../../../lib/rlp.ts'
import type { SpanBatchBlock } from '../batch/spanBatchEncoder.ts'
import type { RollupConfig } from '../types.ts'

export const spanBlock = (overrides: Partial<SpanBatchBlock>): SpanBatchBlock => ({
  parentHash: `0x${'aa'.repeat(32)}`,
  timestamp: 1_700_000_102,
  epochNumber: 1000,
  epochHash: `0x${'11'.repeat(32)}`,
  sequenceNumber: 1,
  transactions: [],
  ...overrides,
})

/** Blocks of one span batch, with transactions of each type. */
export function arbitraryBlocks({ blockTime, l2ChainId }: RollupConfig): fc.Arbitrary<SpanBatchBlock[]> {
  const u64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })
  const word = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n })
  const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })
  const to = fc.oneof(bytes(20), fc.constant(new Uint8Array(0)))
  const data = fc.uint8Array({ maxLength: 80 })
  const bit = fc.bigInt({ min: 0n, max: 1n })
  const accessList = fc.array(fc.tuple(bytes(20), fc.array(bytes(32), { maxLength: 2 })), { maxLength: 2 })
  const authorization = fc.tuple(word, bytes(20), u64, bit, word, word)
  const v = fc.oneof(
    bit.map((y) => 27n + y),
    bit.map((y) => l2ChainId * 2n + 35n + y),
  )
  const typed = (type: number) => (fields: Parameters<typeof encodeRlp>[0]) =>
    concatBytes(Uint8Array.of(type), encodeRlp(fields))
  const chainId = fc.constant(l2ChainId)
  const transaction = fc.oneof(
    fc.tuple(u64, word, u64, to, word, data, v, word, word).map(encodeRlp),
    fc.tuple(chainId, u64, word, u64, to, word, data, accessList, bit, word, word).map(typed(1)),
    fc.tuple(chainId, u64, word, word, u64, to, word, data, accessList, bit, word, word).map(typed(2)),
    fc
      .tuple(
        chainId,
        u64,
        word,
        word,
        u64,
        bytes(20),
        word,
        data,
        accessList,
        fc.array(authorization, { maxLength: 2 }),
        bit,
        word,
        word,
      )
      .map(typed(4)),
    fc.tuple(u64, u64, fc.array(fc.tuple(u64, u64), { maxLength: 3 })).map(typed(0x7d)),
  )
  const step = fc.record({ advances: fc.boolean(), transactions: fc.array(transaction, { maxLength: 4 }) })
  return fc.array(step, { minLength: 1, maxLength: 12 }).map((steps) => {
    let epochNumber = 1000
    return steps.map(({ advances, transactions }, i) => {
      if (i > 0 && advances) epochNumber++
      const sequenceNumber = advances ? 0 : 1
      return spanBlock({ timestamp: 1_700_000_002 + i * blockTime, epochNumber, sequenceNumber, transactions })
    })
  })
}
