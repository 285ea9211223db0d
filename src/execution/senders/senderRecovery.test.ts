import { describe, expect, it } from 'vitest'
import { ManualClock, systemClock } from '../../lib/clock.ts'
import { DecodeError } from '../../lib/errors.ts'
import { silentLogger } from '../../lib/logger.ts'
import { until } from '../../lib/testUtils/until.ts'
import { encodePostExecTx } from '../../rollup/protocol/transaction/postExec.ts'
import { deposit } from '../testUtils/memoryBlock.ts'
import { signLegacyTransaction, signTransaction, testKey } from '../testUtils/signTransaction.ts'
import { decodeTransaction } from '../tx/decodeTransaction.ts'
import { createSenderRecovery, type SenderRecovery, type SenderRecoveryOptions } from './senderRecovery.ts'
import { Batch } from './sendersAhead.ts'
import { recoverSenders } from './senderTask.ts'

const ENDING = new URL('./testUtils/endingSenders.ts', import.meta.url)
const LOST = signTransaction(testKey(9)).raw
// Its signature.
LOST.fill(0xff, -32)

const signed = Array.from({ length: 200 }, (_, index) =>
  index % 3 === 0
    ? signLegacyTransaction(testKey(index + 1), { chainId: 901n, nonce: index })
    : signTransaction(testKey(index + 1), { nonce: index }),
)
const postExec = encodePostExecTx({ version: 1, blockNumber: 7, refunds: [{ index: 1, gasRefund: 5n }] })
const encodings = [deposit().raw, ...signed.map(({ raw }) => raw), postExec]

function start(options: SenderRecoveryOptions = {}): SenderRecovery & AsyncDisposable {
  const service = createSenderRecovery({ clock: systemClock, logger: silentLogger }, options)
  return { ...service, [Symbol.asyncDispose]: () => service.close() }
}

describe('senders that are recovered ahead', () => {
  it('are those of the transactions, what nobody signed passed over', async () => {
    await using service = start()
    using ahead = service.begin(encodings)
    await until(() => service.stats().recovered === signed.length)
    expect(encodings.map((_, index) => ahead.senderOf(index))).toEqual([
      undefined,
      ...signed.map(({ from }) => from),
      undefined,
    ])
  })

  it('are there for every block that was begun', async () => {
    await using service = start()
    const blocks = Array.from({ length: 40 }, (_, block) => signed.slice(block * 5, block * 5 + 5))
    const all = blocks.map((block) => service.begin(block.map(({ raw }) => raw)))
    await until(() => service.stats().recovered === signed.length)
    for (const [block, ahead] of all.entries()) {
      expect(blocks[block]?.map((_, index) => ahead.senderOf(index))).toEqual(blocks[block]?.map(({ from }) => from))
    }
  })

  it('are left to the chain when the program stops, which starts no process for them', async () => {
    const stop = new AbortController()
    const service = createSenderRecovery({ clock: systemClock, logger: silentLogger, signal: stop.signal })
    using _ = service.begin(encodings)
    stop.abort()
    using ahead = service.begin(encodings)
    await service.close()
    expect(ahead.senderOf(1)).toBeUndefined()
    expect(service.stats()).toEqual({ recovered: 0, broken: 0 })
  })

  it('leave out a bad signature, which decoding tells of', () => {
    const senders = recoverSenders([LOST.length, LOST.length], Buffer.concat([LOST, LOST]))
    expect(senders).toEqual(new Uint8Array(40))
    expect(() => decodeTransaction(LOST)).toThrow(DecodeError)
    expect(() => decodeTransaction(LOST, '0x1111111111111111111111111111111111111111')).toThrow(DecodeError)
  })

  it('need no process for a few transactions, nor a share in a small block', async () => {
    await using service = start({ file: ENDING })
    using _ = service.begin(encodings.slice(0, 100))
    expect(service.beginNow(encodings.slice(0, 100))).toBeUndefined()
    expect(service.stats().broken).toBe(0)
  })

  it('are just not there when the process breaks down, which is started again after a minute', async () => {
    const clock = new ManualClock()
    await using service = (() => {
      const made = createSenderRecovery({ clock, logger: silentLogger }, { file: ENDING })
      return { ...made, [Symbol.asyncDispose]: () => made.close() }
    })()
    using ahead = service.begin(encodings)
    await until(() => service.stats().broken === 1)
    expect(ahead.senderOf(1)).toBeUndefined()
    using _ = service.begin(encodings)
    await clock.advance(60_000)
    using __ = service.begin(encodings)
    await until(() => service.stats().broken === 2)
  })
})

describe('a batch', () => {
  it('is taken from its end until both meet', () => {
    const batch = new Batch(encodings.slice(0, 6))
    expect(batch.take()?.index).toBe(5)
    batch.senderOf(1)
    expect([batch.take()?.index, batch.take()?.index]).toEqual([4, 3])
    batch.senderOf(2)
    expect(batch.take()).toBeUndefined()
  })

  it('gives nothing more once it is ended', () => {
    const batch = new Batch(encodings)
    batch.end()
    expect(batch.take()).toBeUndefined()
  })
})
