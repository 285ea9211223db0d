import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { concatBytes } from '../../lib/bytes.ts'
import { describeError } from '../../lib/errors.ts'
import type { Hex } from '../../lib/hex.ts'
import { silentLogger } from '../../lib/logger.ts'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { propertyRuns } from '../../lib/testUtils/propertyRuns.ts'
import { isForkActive, l2BlockTime } from '../../rollup/protocol/config/forks.ts'
import { MAX_BLOCK_TRANSACTIONS } from '../../rollup/protocol/payload/payloadSsz.ts'
import type { Fork, PayloadEnvelope } from '../../rollup/protocol/types.ts'
import { snappyFrameParts } from '../base/snappyFrames.ts'
import { createInspectionProcess, InspectionFailure } from '../inspection/inspectionProcess.ts'
import { LARGE_BYTES } from '../inspection/largeMessages.ts'
import { readBlock, unpackBlock } from '../inspection/unpackBlock.ts'
import { unhurriedClock } from '../testUtils/clocks.ts'
import { encodeResponse } from '../testUtils/responses.ts'
import { testBlock, testConfig } from '../testUtils/testChain.ts'
import { createAnswerReader } from './answerReader.ts'
import type { Answer } from './client.ts'
import { openResponse } from './payloadByNumber.ts'

const NUMBER = 7
const config = testConfig('isthmus')
const timestamp = l2BlockTime(config, NUMBER)
const inspector = createInspectionProcess({ clock: unhurriedClock(), logger: silentLogger })
afterAll(() => inspector.close())

const random = (length: number): Uint8Array => new Uint8Array(randomBytes(length))

const blockOf = (transactions: Uint8Array[]): PayloadEnvelope =>
  testBlock(config, { blockNumber: NUMBER, timestamp, transactions })
const answerOf = (transactions: Uint8Array[]): Uint8Array => encodeResponse(blockOf(transactions), config)

/** The result or the error of a read. */
async function outcome(reading: Promise<unknown>): Promise<unknown> {
  try {
    return await reading
  } catch (error) {
    if (error instanceof InspectionFailure) throw error
    return describeError(error)
  }
}

/** Reads answers, and counts where their blocks are decoded. */
function countingReader() {
  const work = { here: 0, there: 0 }
  const read = createAnswerReader(
    {
      unpackBlock(block, from) {
        work.there += 1
        return inspector.unpackBlock(block, from)
      },
    },
    config,
    (body, version) => {
      work.here = Math.max(work.here, body.length)
      return readBlock(body, version)
    },
  )
  return {
    work,
    read: (bytes: Uint8Array): Promise<Answer> => read(bytes, NUMBER, 'peer'),
  }
}

function bothWays(bytes: Uint8Array): Promise<[unknown, unknown]> {
  const response = openResponse(bytes, config, timestamp)
  if (!('block' in response)) return Promise.resolve([response, response])
  return Promise.all([
    outcome(Promise.resolve().then(() => unpackBlock(response.block))),
    outcome(inspector.unpackBlock(response.block, 'peer')),
  ])
}

describe('a block unpacked by the inspection process', () => {
  it('has the same block or error as in the main process, whichever bytes are changed', async () => {
    const good = answerOf([...Array(20)].map((_, n) => random(n * 7)))
    const change = fc.tuple(fc.integer({ min: 5, max: good.length - 1 }), fc.nat(255))
    await fc.assert(
      fc.asyncProperty(
        fc.array(change, { maxLength: 3 }),
        fc.integer({ min: 5, max: good.length }),
        fc.boolean(),
        async (changes, length, isWhole) => {
          const bytes = isWhole ? Uint8Array.from(good) : good.slice(0, length)
          for (const [at, value] of changes) if (at < bytes.length) bytes[at] = value
          const [here, there] = await bothWays(bytes)
          expect(there).toEqual(here)
        },
      ),
      { numRuns: propertyRuns(200) },
    )
  })

  it('has the same block or error as in the main process for arbitrary content in valid frames', async () => {
    const body = fc.uint8Array({ maxLength: 1_500 })
    await fc.assert(
      fc.asyncProperty(body, async (bytes) => {
        const [here, there] = await bothWays(concatBytes(Uint8Array.of(0, 1, 0, 0, 0), ...snappyFrameParts([bytes])))
        expect(there).toEqual(here)
      }),
      { numRuns: propertyRuns(100) },
    )
  })
})

describe('an answer that claims the hash of the good block', () => {
  const other = `0x${'77'.repeat(32)}` as const
  const withdrawal = {
    index: 1n,
    validatorIndex: 2n,
    address: '0x4200000000000000000000000000000000000011',
    amount: 3n,
  } as const
  type Changes = Partial<PayloadEnvelope['payload'] & Pick<PayloadEnvelope, 'parentBeaconBlockRoot'>>
  const forgeries: [since: Fork, name: string, changes: Changes][] = [
    ['regolith', 'another number', { blockNumber: NUMBER + 1 }],
    ['regolith', 'another parent', { parentHash: other }],
    ['regolith', 'another fee recipient', { feeRecipient: withdrawal.address.replace('42', '43') as Hex }],
    ['regolith', 'another state', { stateRoot: other }],
    ['regolith', 'other receipts', { receiptsRoot: other }],
    ['regolith', 'other logs', { logsBloom: `0x${'01'.repeat(256)}` }],
    ['regolith', 'another random value', { prevRandao: other }],
    ['regolith', 'another gas limit', { gasLimit: 1n }],
    ['regolith', 'other gas', { gasUsed: 1n }],
    ['regolith', 'another time', { timestamp: timestamp + 1 }],
    ['regolith', 'other extra data', { extraData: '0x01' }],
    ['regolith', 'another base fee', { baseFeePerGas: 1n }],
    ['regolith', 'no transactions', { transactions: [] }],
    ['regolith', 'other transactions', { transactions: [Uint8Array.of(1), Uint8Array.of(2)] }],
    ['canyon', 'withdrawals', { withdrawals: [withdrawal] }],
    ['ecotone', 'other blob gas', { blobGasUsed: 1n }],
    ['ecotone', 'other excess blob gas', { excessBlobGas: 1n }],
    ['ecotone', 'another beacon root', { parentBeaconBlockRoot: other }],
    ['isthmus', 'another withdrawals root', { withdrawalsRoot: other }],
  ]
  const forks = ['regolith', 'canyon', 'ecotone', 'isthmus', 'jovian'] as const

  describe.each(forks)('on %s', (fork) => {
    const forkConfig = testConfig(fork, { genesis: config.genesis })
    const good = testBlock(forkConfig, {
      blockNumber: NUMBER,
      timestamp,
      ...(fork === 'jovian' ? { blobGasUsed: 123_456n } : {}),
    })
    const read = createAnswerReader(inspector, forkConfig)
    const readForged = (forged: PayloadEnvelope): Promise<Answer> =>
      read(encodeResponse(forged, forkConfig), NUMBER, 'peer')

    it('accepts the good block', async () => {
      expect(await readForged(good)).toEqual({ code: 0, envelope: good })
    })

    it.each(forgeries.filter(([since]) => isForkActive(forkConfig, since, timestamp)))(
      'refuses a change of a field that exists since %s: %s',
      async (_since, _name, { parentBeaconBlockRoot, ...changes }) => {
        const forged = {
          ...good,
          ...(parentBeaconBlockRoot === undefined ? {} : { parentBeaconBlockRoot }),
          payload: { ...good.payload, ...changes },
        }
        // The header of an Isthmus block has another root at that place.
        const isUnhashed = 'withdrawals' in changes && isForkActive(forkConfig, 'isthmus', timestamp)
        const reason = 'blockNumber' in changes ? 'wrong-number' : isUnhashed ? 'withdrawals' : 'wrong-hash'
        await expect(readForged(forged)).rejects.toMatchObject({ reason, code: `answer-${reason}` })
      },
    )
  })
})

describe('createAnswerReader', () => {
  /** The last frame has a wrong checksum. */
  const brokenAtTheEnd = (): Uint8Array => {
    const bytes = answerOf([random(1_000_000)])
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1
    return bytes
  }
  const many = (count: number): Uint8Array[] => new Array(count).fill(Uint8Array.of(1))
  const emptyChunks = (size: number): Uint8Array =>
    concatBytes(Uint8Array.of(0, 1, 0, 0, 0), ...snappyFrameParts([]), Buffer.alloc(size, 'fe000000', 'hex'))
  const forged = blockOf([random(300_000)])
  forged.payload.gasUsed += 1n
  const other = testBlock(config, { blockNumber: 8, timestamp, transactions: [random(300_000)] })

  it.each<[string, () => Uint8Array, unknown, number]>([
    ['an error code', () => Uint8Array.of(1), undefined, 0],
    ['a small block', () => answerOf([random(100_000)]), undefined, 0],
    ['10 MB of incompressible data', () => answerOf([random(10_400_000)]), undefined, 1],
    ['10 MB of zeros', () => answerOf([new Uint8Array(10_400_000)]), undefined, 1],
    ['as many transactions as a block can have', () => answerOf(many(MAX_BLOCK_TRANSACTIONS)), undefined, 1],
    [
      'more transactions than a block can have',
      () => answerOf(many(MAX_BLOCK_TRANSACTIONS + 1)),
      errorWith('decode', MAX_BLOCK_TRANSACTIONS + 1),
      1,
    ],
    ['many small transactions', () => answerOf(many(5_000)), undefined, 1],
    ['fewer small transactions', () => answerOf(many(4_000)), undefined, 0],
    ['a wrong checksum in the last frame', brokenAtTheEnd, errorWith('decode', 'checksum'), 1],
    ['10 MB of chunks without data', () => emptyChunks(10_000_000), errorWith('decode', 0), 1],
    ['100 kB of chunks without data', () => emptyChunks(100_000), errorWith('decode', 0), 0],
    [
      'an answer above the uncompressed limit',
      () => answerOf([new Uint8Array(11_000_000)]),
      errorWith('decode', 10_485_760),
      1,
    ],
    ['a large block with a wrong hash', () => encodeResponse(forged, config), errorWith('answer-wrong-hash', 7), 1],
    [
      'a large block with another number',
      () => encodeResponse(other, config),
      errorWith('answer-wrong-number', 7, 8),
      1,
    ],
  ])('reads %s without unpacking large answers in the main process', async (_id, make, error, there) => {
    const { read, work } = countingReader()
    const bytes = make()
    const result = await read(bytes).catch((thrown: unknown) => thrown)
    if (error !== undefined) expect(result).toEqual(error)
    else if (bytes.length > 1) expect(result).toMatchObject({ code: 0, envelope: { payload: { blockNumber: NUMBER } } })
    else expect(result).toEqual({ code: 1 })
    expect(work.there).toBe(there)
    expect(work.here).toBeLessThanOrEqual(LARGE_BYTES)
  })

  it('never unpacks more than the limit in the main process', async () => {
    const sizes = fc.array(fc.integer({ min: 0, max: 3 * LARGE_BYTES }), { maxLength: 3 })
    await fc.assert(
      fc.asyncProperty(sizes, fc.boolean(), async (lengths, isRandom) => {
        const { read, work } = countingReader()
        const block = blockOf(lengths.map((length) => (isRandom ? random(length) : new Uint8Array(length))))
        expect(await read(encodeResponse(block, config))).toEqual({ code: 0, envelope: block })
        expect(work.here).toBeLessThanOrEqual(LARGE_BYTES)
        expect(work.there).toBe(work.here === 0 ? 1 : 0)
      }),
      { numRuns: propertyRuns(40) },
    )
  })
})
