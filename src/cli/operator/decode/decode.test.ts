import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { loadRecording, type RecordingName } from '../../../../test/support/recording.ts'
import { concatBytes } from '../../../lib/bytes.ts'
import { DecodeError } from '../../../lib/errors.ts'
import { keccak256Hex } from '../../../lib/hash.ts'
import { fromHex, toHex } from '../../../lib/hex.ts'
import { encodeRlp, encodeTypedRlp } from '../../../lib/rlp.ts'
import { propertyRuns } from '../../../lib/testUtils/propertyRuns.ts'
import {
  compressChannel,
  decodeBatch,
  decodeFrames,
  encodeBlob,
  encodeFrame,
  encodeFrames,
  encodePostExecTx,
  encodeSingularBatch,
  encodeSpanBatch,
  type Frame,
} from '../../../rollup/protocol/index.ts'
import { describeBatch } from './batches.ts'
import { type Decoded, decodeInputs } from './decode.ts'
import { inputsOfJson } from './input.ts'
import type { Kind } from './kinds.ts'

const OPTIONS = { config: undefined, listTransactions: true }
const ID = toHex(new Uint8Array(16).fill(0xab))
const ID_HASH = toHex(new Uint8Array(32).fill(0xab))
const BATCH = encodeSingularBatch({
  parentHash: `0x${'b1'.repeat(32)}`,
  epochNumber: 1000,
  epochHash: `0x${'11'.repeat(32)}`,
  timestamp: 1_700_000_104,
  transactions: [fromHex('c0')],
})
const CHANNEL = compressChannel(encodeRlp(BATCH), 'zlib')
const frame = (number: number, data: Uint8Array, isLast: boolean): Frame => ({ channelId: ID, number, data, isLast })
const WHOLE = encodeFrames([frame(0, CHANNEL, true)])

/** The frame test vector of this project's codecs. */
const FRAME = fromHex('0102030405060708090a0b0c0d0e0f1000020000000568656c6c6f01')

/** A span batch of three blocks of chain 901, and a legacy transaction of its first block (as in protocol/batch.test.ts). */
const SPAN = fromHex(
  '0166e907aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1212121212121212121212121212121212121212030402000102011685250ce9e4abca96f14a75f95d9eee32c7e3a853384f3d470e32f6648b2d037dac86aa675a638f38b446af59feae98b12d5a7742a5f26154a77e2d4fea1bfd699bc8eac5c8ccdf93e1a8e68f7a9d85cbfcba09f1359d16d7da9628dfe85ac8254a3d38d303ac83002bc7dd588c4b47b5724faeb9e16a7d4db7adfc922c28dc76fd49d9951275a3f05716fae30d92640ebf539ee93a3834866cd047e248fbaa218be3734d3bedf27bb690d4101d75876dc28f30b047891d5b400e7e6ae6f20135353535353535353535353535353535353535353535353535353535353535353535353535353535d0880de0b6b3a76400008504a817c8008002c7800164826000c0c5800782cafe090a0b88a401e0d403f0ab0101',
)

const decode = (bytes: Uint8Array, as?: Kind): Promise<Decoded> =>
  decodeInputs([{ source: 'x', bytes }], { ...OPTIONS, ...(as === undefined ? {} : { as }) })

describe('decodeInputs of recorded chains', () => {
  it.each<RecordingName>([
    'granite-singular-zlib-calldata',
    'holocene-span-brotli-calldata',
    'granite-span-zlib-blobs',
    '2026-holocene-isthmus-jovian-calldata',
    '2026-holocene-to-karst-blobs',
  ])('%s: every batcher transaction and blob decodes to the blocks of L2', async (name) => {
    const { config, l1, l2 } = loadRecording(name)
    const posted = l1.map((block) => ({
      transactions: block.transactions.filter(({ to }) => to === config.batchInboxAddress),
      blobs: block.blobs ?? [],
    }))
    const decoded = await decodeInputs(
      inputsOfJson(
        posted.filter(({ transactions }) => transactions.length > 0),
        'l1',
      ),
      {
        config,
        listTransactions: true,
      },
    )
    expect(decoded.faults).toBe(0)
    const blocks = decoded.channels.flatMap(({ batches }) => batches).flatMap((batch) => batch.blocks ?? [])
    expect(blocks.length).toBeGreaterThan(15)
    for (const block of blocks) {
      const recorded = l2[block.number ?? 0]?.payload
      expect(block.timestamp).toBe(recorded?.timestamp)
      const own = recorded?.transactions.filter((raw) => raw[0] !== 0x7e) ?? []
      expect(block.transactions?.map(({ hash }) => hash)).toEqual(own.map((raw) => keccak256Hex(raw)))
      for (const { from, nonce, invalid } of block.transactions ?? []) {
        expect(from).toMatch(/^0x[0-9a-f]{40}$/)
        expect(nonce).toBeTypeOf('number')
        expect(invalid).toBeUndefined()
      }
    }
    expect(decoded.channels.every(({ isComplete, compression }) => isComplete && compression !== null)).toBe(true)
  })
})

describe('detection', () => {
  const signed = fromHex(
    '02f8528203850a016482ea608080826000c080a0699bc8eac5c8ccdf93e1a8e68f7a9d85cbfcba09f1359d16d7da9628dfe85ac8a0254a3d38d303ac83002bc7dd588c4b47b5724faeb9e16a7d4db7adfc922c28dc',
  )
  it.each<[string, Uint8Array, Kind]>([
    ['frames behind their version byte', WHOLE, 'data'],
    ['a blob', encodeBlob(WHOLE), 'blob'],
    ['a frame', FRAME, 'frame'],
    ['a zlib channel', CHANNEL, 'channel'],
    ['a brotli channel', compressChannel(encodeRlp(BATCH), 'brotli-10'), 'channel'],
    ['a singular batch', BATCH, 'batch'],
    ['a span batch', SPAN, 'batch'],
    ['a span batch without its type byte', SPAN.subarray(1), 'batch'],
    ['a signed transaction', signed, 'transaction'],
    ['frames of which the last is cut off', concatBytes(WHOLE, FRAME.subarray(0, 24)), 'data'],
    ['a zlib channel that is cut off', CHANNEL.subarray(0, 40), 'channel'],
  ])('detects %s', async (_name, bytes, kind) => {
    expect((await decode(bytes)).inputs[0]?.kind).toBe(kind)
  })

  it('reports the known facts about bytes of no known kind', async () => {
    const { inputs, faults } = await decode(fromHex('ff'.repeat(40)))
    expect(faults).toBe(1)
    expect(inputs[0]).toMatchObject({
      kind: null,
      fault: { byte: 0, rule: expect.stringContaining('is not the beginning of any of') },
    })
  })
})

describe('channels', () => {
  const parts = [CHANNEL.subarray(0, 20), CHANNEL.subarray(20, 50), CHANNEL.subarray(50)]
  const pieces = parts.map((data, i) => ({
    source: `f${i}`,
    bytes: encodeFrame(frame(i, data, i === 2)),
    kind: 'frame' as const,
  }))

  it('are joined from frames of several inputs, in any order', async () => {
    const { channels, faults } = await decodeInputs(
      [pieces[2], pieces[0], pieces[1]].flatMap((p) => p ?? []),
      OPTIONS,
    )
    expect(faults).toBe(0)
    expect(channels).toMatchObject([
      { id: ID, frames: [0, 1, 2], isComplete: true, compression: 'zlib', blockCount: 1, transactionCount: 1 },
    ])
    expect(channels[0]?.decompressedBytes).toBe(encodeRlp(BATCH).length)
  })

  it('list missing, refused and duplicate frames', async () => {
    const doubled = [
      pieces[0],
      pieces[2],
      pieces[0],
      { source: 'f9', bytes: encodeFrame(frame(9, parts[0] ?? CHANNEL, false)) },
    ]
    const { channels, faults } = await decodeInputs(
      doubled.flatMap((p) => p ?? []),
      OPTIONS,
    )
    expect(faults).toBe(0)
    expect(channels).toMatchObject([
      {
        isComplete: false,
        missingFrames: [1],
        refusedFrames: ['frame 0 is a duplicate', 'frame 9 comes after the closing frame 2'],
      },
    ])
  })
})

describe('span batches', () => {
  it('show the size of their parts, and no hashes without a rollup config', async () => {
    const { batches } = await decode(SPAN)
    expect(batches[0]).toMatchObject({
      ...{ type: 'span', blockCount: 3, transactionCount: 3, parentCheck: `0x${'aa'.repeat(20)}`, fault: null },
      layout: {
        prefix: 43,
        origins: 2,
        counts: 3,
        bits: 2,
        signatures: 192,
        recipients: 40,
        nonces: 3,
        gasLimits: 9,
        protected: 1,
      },
    })
    const [first, , third] = batches[0]?.blocks ?? []
    expect(first).toMatchObject({ number: null, timestamp: 102, timestampIsRelative: true, origin: { number: 1000 } })
    expect(first?.transactions?.[0]).toMatchObject({ hash: null, from: null, nonce: 9, value: '1000000000000000000' })
    expect(third).toMatchObject({ timestamp: 0 + 102, origin: { number: 1001 }, transactionCount: 1 })
  })

  it('show hashes, senders, numbers and times with a rollup config', async () => {
    const { config } = loadRecording('holocene-span-brotli-calldata')
    const chain = { ...config, l2ChainId: 901n, blockTime: 2, genesis: { ...config.genesis, l2Time: 1_700_000_000 } }
    const { batches } = await decodeInputs([{ source: 'x', bytes: SPAN }], { config: chain, listTransactions: true })
    const [first, second] = batches[0]?.blocks ?? []
    expect(second).toMatchObject({ number: 52, timestamp: 1_700_000_104 })
    const raw = fromHex(
      'f86e098504a817c800825208943535353535353535353535353535353535353535880de0b6b3a76400008082072ea01685250ce9e4abca96f14a75f95d9eee32c7e3a853384f3d470e32f6648b2d03a07dac86aa675a638f38b446af59feae98b12d5a7742a5f26154a77e2d4fea1bfd',
    )
    expect(first?.transactions?.[0]).toMatchObject({
      hash: keccak256Hex(raw),
      type: 0,
      from: '0x9d8a62f656a8d1615c1294fd71e9cfb3e4855a4f',
      to: `0x${'35'.repeat(20)}`,
      gasLimit: '21000',
    })
    const counted = await decodeInputs([{ source: 'x', bytes: SPAN }], { config: chain, listTransactions: false })
    expect(counted.batches[0]?.blocks?.[0]).toMatchObject({ transactionCount: 2 })
    expect(counted.batches[0]?.blocks?.[0]).not.toHaveProperty('transactions')
  })
})

describe('post-exec transactions', () => {
  const refunds = [{ index: 1, gasRefund: 2000n }]
  const transaction = encodePostExecTx({ version: 1, blockNumber: 7, refunds })
  const { config } = loadRecording('holocene-span-brotli-calldata')
  const timestamp = config.genesis.l2Time + 12
  const block = { parentHash: ID_HASH, timestamp, epochNumber: 3, epochHash: ID_HASH, sequenceNumber: 0 }
  const span = (...transactions: Uint8Array[]) => encodeSpanBatch([{ ...block, transactions }], config)
  const shown = async (batch: Uint8Array) => (await decode(batch)).batches[0]?.blocks?.[0]?.transactions

  it('are shown with their refunds, in batches of both types', async () => {
    const content = { version: 1, blockNumber: 7, refunds: [{ index: 1, gasRefund: '2000' }] }
    // The hash needs no chain id, since a span batch holds the whole transaction.
    const expected = { hash: keccak256Hex(transaction), type: 125, bytes: transaction.length, postExec: content }
    expect(await shown(encodeSingularBatch({ ...block, transactions: [transaction] }))).toEqual([expected])
    expect(await shown(span(transaction))).toEqual([expected])
  })

  it('of an unknown version show the known fields; malformed ones are reported', async () => {
    const [other, bad] = (await shown(span(fromHex('7dc3020780'), fromHex('7dc0')))) ?? []
    expect(other).toMatchObject({ type: 125, postExec: { version: 2, blockNumber: 7, refunds: [] } })
    expect(bad).toMatchObject({ type: 125, invalid: expect.stringContaining('post-exec') })
  })

  it('make the span batch invalid if a neighbouring slot is not empty', async () => {
    const bytes = span(transaction)
    // The last byte is the gas limit.
    bytes[bytes.length - 1] = 1
    const { batches, faults } = await decode(bytes)
    expect(faults).toBe(1)
    expect(batches[0]?.fault).toMatchObject({
      rule: expect.stringContaining('transaction 0 of type 0x7d has a gas limit'),
      effect: expect.stringContaining('only this batch'),
    })
  })
})

describe('malformed input is reported with its byte and its rule', () => {
  const change = (bytes: Uint8Array, at: number, value: number) => {
    const copy = bytes.slice()
    copy[at] = value
    return copy
  }
  const channelOf = (...items: Uint8Array[]) => compressChannel(concatBytes(...items), 'zlib')
  const list = (...fields: Parameters<typeof encodeRlp>[0][]) => concatBytes(Uint8Array.of(0), encodeRlp(fields))
  const hash = new Uint8Array(32).fill(5)
  const longFrame = change(change(WHOLE, 1 + 18, 0x7f), 1 + 19, 0xff)

  const transaction = encodeTypedRlp(2, [1, Uint8Array.of(0, 1)])
  const withBlob = encodeTypedRlp(3, [[1, Uint8Array.of(0, 1)], [new Uint8Array(60)], [], []])

  it.each<[string, Uint8Array, Kind, number | null, string]>([
    ['a nonce with a leading zero', transaction, 'transaction', 4, 'transaction nonce: integer has leading zeros'],
    ['a nonce before blobs', withBlob, 'transaction', 6, 'transaction nonce: integer has leading zeros'],
    ['a blob that is a list', encodeTypedRlp(3, [[], [[]], []]), 'transaction', 4, 'blob: expected a byte string'],
    ['another version byte', change(WHOLE, 0, 1), 'data', 0, 'version byte is 1, expected 0 (1 marks a commitment'],
    ['no frame', Uint8Array.of(0), 'data', 1, 'none after the version byte'],
    ['a frame that is cut off', WHOLE.subarray(0, 15), 'data', 1, 'a frame has at least 23 bytes, 14 are left'],
    ['frame data that are cut off', WHOLE.subarray(0, 40), 'data', 19, 'and is_last, but 17 are left'],
    ['frame data beyond the limit', longFrame, 'data', 19, 'at most 1000000 are allowed'],
    ['is_last of 2', change(WHOLE, WHOLE.length - 1, 2), 'data', WHOLE.length - 1, 'is_last is 2'],
    ['a field element', change(encodeBlob(WHOLE), 96, 0x40), 'blob', 96, 'field element of round 0'],
    ['a blob version', change(encodeBlob(WHOLE), 1, 3), 'blob', 1, 'version 3'],
    ['a blob length', change(encodeBlob(WHOLE), 2, 3), 'blob', 2, 'length'],
    ['data behind the end of a blob', change(encodeBlob(WHOLE), 131_000, 3), 'blob', 131_000, 'after its end'],
    ['a blob of another size', WHOLE, 'blob', 0, `${WHOLE.length} bytes, expected 131072`],
    ['an unknown compression', Uint8Array.of(3, 4, 5), 'channel', 0, 'compression byte is 3'],
    [
      'a channel that is cut off',
      CHANNEL.subarray(0, CHANNEL.length - 30),
      'channel',
      null,
      'unexpected end of stream',
    ],
    [
      'a list in a channel',
      channelOf(encodeRlp(BATCH), encodeRlp([1])),
      'channel',
      encodeRlp(BATCH).length,
      'expected a byte string',
    ],
    ['an empty item', channelOf(Uint8Array.of(0x80)), 'channel', 1, 'batch 0 is empty'],
    ['a batch type', channelOf(encodeRlp(Uint8Array.of(7, 1))), 'channel', 1, 'batch 0 has type 7'],
    ['a short item', channelOf(Uint8Array.of(0x85, 1)), 'channel', 0, 'batch: 5 bytes long, 1 are left'],
    ['four fields', list(hash, 1, hash, 2), 'batch', 71, 'transactions: missing'],
    ['six fields', list(hash, 1, hash, 2, [], 9), 'batch', 72, 'more than five fields'],
    ['a short hash', list(hash.subarray(1), 1, hash, 2, []), 'batch', 3, 'parent hash: expected 32 bytes, got 31'],
    [
      'a number of nine bytes',
      list(hash, 2n ** 64n, hash, 2, []),
      'batch',
      36,
      'epoch number: integer is longer than 8 bytes',
    ],
    ['a leading zero', list(hash, Uint8Array.of(0, 1), hash, 2, []), 'batch', 37, 'leading zeros'],
    [
      'a list of lists',
      list(hash, 1, hash, 2, [[1]]),
      'batch',
      72,
      'encoding of transaction 0: expected a byte string',
    ],
    ['a short span', SPAN.subarray(0, 30), 'batch', 24, 'L1 origin check: truncated, 20 bytes are needed and 6 left'],
    ['no blocks', change(SPAN, 44, 0), 'batch', 44, 'block count: 0'],
    ['an origin bit too many', change(SPAN, 45, 0x0c), 'batch', 45, 'origin bits: more than 3 bits'],
    ['a transaction type', change(SPAN, 300, 3), 'batch', 300, 'data of transaction 1: batches do not carry type 3'],
    ['cut gas limits', SPAN.subarray(0, SPAN.length - 2), 'batch', 324, 'gas limit of transaction 2: truncated'],
  ])('%s', async (_name, bytes, kind, byte, rule) => {
    const { inputs, channels, batches, faults } = await decode(bytes, kind)
    expect(faults).toBeGreaterThan(0)
    const found = [...inputs, ...channels, ...batches].flatMap(({ fault }) => fault ?? [])
    expect(found).toHaveLength(1)
    expect(found[0]?.rule).toContain(rule)
    if (byte !== null) expect(found[0]?.byte).toBe(byte)
    expect(found[0]?.effect).not.toBe('')
  })

  it('keeps the batches before a fault', async () => {
    const { channels } = await decode(channelOf(encodeRlp(BATCH), encodeRlp(list(hash)), encodeRlp(BATCH)))
    expect(channels[0]?.batches.map(({ fault }) => fault?.byte ?? null)).toEqual([null, 35, null])
    const cut = await decode(
      compressChannel(concatBytes(encodeRlp(BATCH), Uint8Array.of(0x90)), 'brotli-10'),
      'channel',
    )
    expect(cut.channels[0]).toMatchObject({ blockCount: 1, fault: { byte: encodeRlp(BATCH).length } })
  })
})

describe('agreement with the derivation codecs', () => {
  /** Valid data with some bytes changed, cut or added. */
  const damaged = (bytes: Uint8Array) =>
    fc
      .tuple(
        fc.array(fc.tuple(fc.nat(bytes.length - 1), fc.nat(255)), { maxLength: 3 }),
        fc.nat(6),
        fc.uint8Array({ maxLength: 3 }),
      )
      .map(([changes, cut, added]) => {
        const copy = bytes.slice()
        for (const [at, value] of changes) copy[at] = value
        return concatBytes(copy.subarray(0, copy.length - cut), added)
      })
  const isSound = (read: () => unknown) => {
    try {
      read()
      return true
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error
      return false
    }
  }

  it('decodes the same frames', async () => {
    const data = concatBytes(WHOLE, encodeFrame(frame(1, CHANNEL, false)))
    await fc.assert(
      fc.asyncProperty(damaged(data), async (bytes) => {
        const { inputs } = await decode(bytes, 'data')
        expect(inputs[0]?.fault === null).toBe(isSound(() => decodeFrames(bytes)))
      }),
      { numRuns: propertyRuns(500) },
    )
  })

  it.each([
    ['singular', BATCH],
    ['span', SPAN],
  ])('decodes the same %s batch', async (_name, batch) => {
    const { config } = loadRecording('holocene-span-brotli-calldata')
    await fc.assert(
      fc.asyncProperty(damaged(batch), async (bytes) => {
        const found = describeBatch(bytes, { config, listTransactions: false })
        expect(found.fault === null).toBe(isSound(() => decodeBatch(bytes, config)))
        expect(found.fault?.rule).not.toBe('')
      }),
      { numRuns: propertyRuns(2000) },
    )
  })

  it('never throws, for any bytes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.uint8Array({ maxLength: 200 }), damaged(WHOLE), damaged(CHANNEL)), async (bytes) => {
        expect(await decode(bytes)).toMatchObject({ faults: expect.any(Number) })
      }),
      { numRuns: propertyRuns(500) },
    )
  })
})
