import { describe, expect, it } from 'vitest'
import { concatBytes, EMPTY_BYTES } from '../../../lib/bytes.ts'
import { DecodeError } from '../../../lib/errors.ts'
import { fromHex, toHex } from '../../../lib/hex.ts'
import { encodeRlp } from '../../../lib/rlp.ts'
import { runNow } from '../../../lib/slicedTask.ts'
import { errorWith } from '../../../lib/testUtils/errorWith.ts'
import { testConfig } from '../testUtils/config.ts'
import { encodePostExecTx } from '../transaction/postExec.ts'
import { decodeBatch, readBatch } from './batch.ts'
import { encodeSingularBatch } from './singularBatch.ts'
import { buildSpanBatch, decodeSpanBatch } from './spanBatch.ts'
import { encodeSpanBatch } from './spanBatchEncoder.ts'

const config = testConfig()
const POST_EXEC = encodePostExecTx({ version: 1, blockNumber: 51, refunds: [{ index: 1, gasRefund: 2_000n }] })
const BLOCK = {
  parentHash: `0x${'aa'.repeat(32)}`,
  timestamp: 1_700_000_102,
  epochNumber: 1000,
  epochHash: `0x${'11'.repeat(32)}`,
  sequenceNumber: 1,
} as const
/** Legacy, unprotected, to 0x08…, nonce 3, gas limit 21000. */
const LEGACY = encodeRlp([3, 1, 21_000, new Uint8Array(20).fill(8), 5, EMPTY_BYTES, 28, 6, 7])

/** The columns of a span with one block that contains only the post-exec transaction. */
interface Columns {
  creationBits: Uint8Array
  parityBits: Uint8Array
  signature: Uint8Array
  recipients: Uint8Array
  data: Uint8Array
  nonce: Uint8Array
  gas: Uint8Array
  protectedBits: Uint8Array
}

function spanWith(change: Partial<Columns> = {}): Uint8Array {
  const columns: Columns = {
    creationBits: Uint8Array.of(1),
    parityBits: Uint8Array.of(0),
    signature: new Uint8Array(64),
    recipients: EMPTY_BYTES,
    data: POST_EXEC,
    nonce: Uint8Array.of(0),
    gas: Uint8Array.of(0),
    protectedBits: EMPTY_BYTES,
    ...change,
  }
  const { creationBits, parityBits, signature, recipients, data, nonce, gas, protectedBits } = columns
  const prefix = fromHex(`0x0166e807${'aa'.repeat(20)}${'11'.repeat(20)}`)
  const head = concatBytes(prefix, Uint8Array.of(1, 0, 1))
  return concatBytes(head, creationBits, parityBits, signature, recipients, data, nonce, gas, protectedBits)
}

function signatureWith(index: number): Uint8Array {
  const signature = new Uint8Array(64)
  signature[index] = 1
  return signature
}

describe('post-exec transaction in a span batch', () => {
  it('is stored as data, with empty values in the other columns', () => {
    const bytes = encodeSpanBatch([{ ...BLOCK, transactions: [POST_EXEC] }], config)
    expect(toHex(bytes)).toBe(toHex(spanWith()))
    expect(decodeSpanBatch(bytes, config).elements[0]?.transactions).toEqual([POST_EXEC])
  })

  it('does not shift recipient, signature, nonce, gas limit or protected bit of its neighbours', () => {
    const transactions = [LEGACY, POST_EXEC, LEGACY]
    const blocks = [
      { ...BLOCK, transactions },
      { ...BLOCK, timestamp: BLOCK.timestamp + 2, sequenceNumber: 2, transactions },
    ]
    const decoded = decodeSpanBatch(encodeSpanBatch(blocks, config), config)
    expect(decoded.elements.map((element) => element.transactions)).toEqual([transactions, transactions])
  })

  it.each([
    { id: 'creation bit 0', change: { creationBits: Uint8Array.of(0), recipients: new Uint8Array(20) } },
    { id: 'y parity 1', change: { parityBits: Uint8Array.of(1) } },
    { id: 'the first byte of r', change: { signature: signatureWith(0) } },
    { id: 'the last byte of r', change: { signature: signatureWith(31) } },
    { id: 'the first byte of s', change: { signature: signatureWith(32) } },
    { id: 'the last byte of s', change: { signature: signatureWith(63) } },
    { id: 'nonce 1', change: { nonce: Uint8Array.of(1) } },
    { id: 'a nonce of 64 bits', change: { nonce: Uint8Array.of(...new Array(9).fill(0x80), 1) } },
    { id: 'gas limit 1', change: { gas: Uint8Array.of(1) } },
    { id: 'a gas limit of 64 bits', change: { gas: Uint8Array.of(...new Array(9).fill(0x80), 1) } },
  ])('with $id invalidates only the batch', ({ change }) => {
    const layout = runNow(readBatch(spanWith(change)))
    if (layout.type === 'singular') throw new Error('not a span')
    expect(() => runNow(buildSpanBatch(layout, config))).toThrow(errorWith('decode', '0x7d'))
  })

  it('with a recipient invalidates the batch', () => {
    expect(() => decodeBatch(spanWith({ recipients: new Uint8Array(20) }), config)).toThrow(DecodeError)
  })

  it('has no protected bit; an extra bit is trailing data', () => {
    const batch = decodeSpanBatch(spanWith({ protectedBits: Uint8Array.of(1) }), config)
    expect(batch.elements[0]?.transactions).toEqual([POST_EXEC])
  })

  it('may contain integers with leading zeros, like Go', () => {
    const batch = decodeSpanBatch(
      spanWith({ nonce: Uint8Array.of(0x80, 0), gas: Uint8Array.of(0x80, 0x80, 0) }),
      config,
    )
    expect(batch.elements[0]?.transactions).toEqual([POST_EXEC])
  })

  it.each([
    ['another version', Uint8Array.of(0x7d, 0xc2, 2, 5)],
    ['an empty list', Uint8Array.of(0x7d, 0xc0)],
    ['a list whose content is no RLP', Uint8Array.of(0x7d, 0xc2, 0xff, 0xff)],
  ])('is not inspected: %s', (_, data) => {
    expect(decodeSpanBatch(spanWith({ data }), config).elements[0]?.transactions).toEqual([data])
    const bytes = encodeSpanBatch([{ ...BLOCK, transactions: [data] }], config)
    expect(toHex(bytes)).toBe(toHex(spanWith({ data })))
  })

  it.each([
    ['no list', Uint8Array.of(0x7d)],
    ['a string', Uint8Array.of(0x7d, 0x81, 0xff)],
    ['a length that is not minimal', Uint8Array.of(0x7d, 0xf8, 1, 5)],
    ['bytes behind the list', concatBytes(POST_EXEC, Uint8Array.of(0))],
  ])('is refused with %s', (_, data) => {
    expect(() => encodeSpanBatch([{ ...BLOCK, transactions: [data] }], config)).toThrow(DecodeError)
  })
})

it('a singular batch contains the unchanged bytes of a post-exec transaction', () => {
  const batch = { ...BLOCK, type: 'singular' as const, transactions: [LEGACY, POST_EXEC] }
  const decoded = decodeBatch(encodeSingularBatch(batch), config)
  if (decoded.type === 'span') throw new Error('not a singular batch')
  expect(decoded.transactions.slice()).toEqual([LEGACY, POST_EXEC])
})
