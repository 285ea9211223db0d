import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { concatBytes } from '../../lib/bytes.ts'
import { ManualClock } from '../../lib/clock.ts'
import type { Hex } from '../../lib/hex.ts'
import { signHash } from '../../lib/secp256k1.ts'
import { encodePayloadEnvelope, payloadSigningHashOfBody, payloadVersionAt } from '../../rollup/protocol/index.ts'
import { type Fork, type PayloadEnvelope, ZERO_ADDRESS } from '../../rollup/protocol/types.ts'
import { compressSnappy } from '../base/snappyBlock.ts'
import type { PayloadVersion } from '../base/topics.ts'
import type { Verdict } from '../base/verdict.ts'
import type { Inspection } from '../inspection/inspection.ts'
import { InspectionFailure } from '../inspection/inspectionProcess.ts'
import { unpackMessage } from '../inspection/messageId.ts'
import { loadGossipRecording } from '../testUtils/gossipRecording.ts'
import { signedMessage } from '../testUtils/signedMessage.ts'
import { SEQUENCER_ADDRESS, SEQUENCER_KEY, testBlock, testConfig } from '../testUtils/testChain.ts'
import { createBlockValidator } from './blockValidator.ts'
import { createSeenBlocks } from './seenBlocks.ts'
import { createSigners } from './signers.ts'

const NOW_S = 1_700_000_000

function setUp(fork: Fork = 'holocene', signer: Hex | undefined = SEQUENCER_ADDRESS) {
  const config = testConfig(fork)
  const clock = new ManualClock(NOW_S * 1000 + 900)
  const state: { signer: Hex | undefined } = { signer }
  const validate = createBlockValidator(
    { config, clock, signers: createSigners({ current: () => state.signer, clock }), seen: createSeenBlocks() },
    { maxAgeS: 60 },
  )
  const version = payloadVersionAt(config, NOW_S)
  return {
    config,
    clock,
    state,
    version,
    validate,
    block: (changes: Parameters<typeof testBlock>[1] = {}) => testBlock(config, { timestamp: NOW_S, ...changes }),
    judge(envelope: PayloadEnvelope, key = SEQUENCER_KEY, as: PayloadVersion = version): Verdict {
      return now(validate(as, { ok: true, data: signedMessage(envelope, as, config.l2ChainId, key) }))
    },
    judgeRaw: (data: Uint8Array, as: PayloadVersion = version) => now(validate(as, { ok: true, data })),
    judgeMessage: (compressed: Uint8Array, as: PayloadVersion = version) =>
      now(validate(as, unpackMessage(compressed))),
  }
}

/** Small messages are validated synchronously. */
function now(verdict: Verdict | Promise<Verdict>): Verdict {
  if (verdict instanceof Promise) throw new Error('judged later')
  return verdict
}

function reasonOf(verdict: Verdict): string {
  return verdict.result === 'accept' ? 'accept' : `${verdict.result} ${verdict.reason}`
}

describe("op-node's recorded messages", () => {
  const NAMES = ['regolith', 'canyon', 'holocene'] as const

  function forRecording(name: (typeof NAMES)[number], signer?: Hex) {
    const recording = loadGossipRecording(name)
    const config = testConfig(name, { l2ChainId: recording.chainId })
    const clock = new ManualClock()
    return {
      recording,
      judge(message: { topic: string; receivedAtMs: number }, compressed: Uint8Array) {
        const at = new ManualClock(message.receivedAtMs)
        const validate = createBlockValidator(
          {
            config,
            clock: at,
            signers: createSigners({ current: () => signer ?? recording.signer, clock }),
            seen: createSeenBlocks(),
          },
          { maxAgeS: 60 },
        )
        const version = ([1, 2, 3] as const).find((v) => message.topic.endsWith(`/${v - 1}/blocks`)) ?? 4
        return reasonOf(now(validate(version, unpackMessage(compressed))))
      },
    }
  }

  const PACKED_REASONS = new Set([
    ...['reject snappy-damaged', 'reject snappy-length', 'reject too-large'],
    ...['reject bad-signature', 'reject wrong-signer'],
  ])
  /** The reasons for a container in which the highest bit of this byte is flipped. */
  function reasonsForByte(index: number, name: (typeof NAMES)[number]): string[] {
    // Block number and timestamp have 53 bits.
    const isWide = (start: number) => index >= start + 6 && index < start + 8
    if (isWide(404) || isWide(428)) return ['reject bad-encoding']
    if (index >= 428 && index < 434) return ['reject too-old', 'reject from-future']
    const isOffset = (start: number) => index >= start && index < start + 4
    if (isOffset(436)) return ['reject bad-encoding']
    if (isOffset(504) || (name !== 'regolith' && isOffset(508))) return ['reject bad-encoding']
    // The lists after the fixed part, and all hashed members.
    const fixed = { regolith: 508, canyon: 512, holocene: 528 }[name]
    return index < fixed ? ['reject wrong-hash'] : ['reject wrong-hash', 'reject bad-encoding']
  }

  it.each(NAMES)('%s: accepts every message at the time it was recorded', (name) => {
    const { recording, judge } = forRecording(name)
    expect(recording.messages.length).toBeGreaterThan(3)
    for (const message of recording.messages) expect(judge(message, message.compressed)).toBe('accept')
  })

  it.each(NAMES)('%s: rejects a message with any changed byte of signature or body', (name) => {
    const { recording, judge } = forRecording(name)
    const [message] = recording.messages
    if (message === undefined) throw new Error('recording is empty')
    const unpacked = unpackMessage(message.compressed)
    if (!unpacked.ok) throw new Error('recording does not unpack')
    for (let index = 0; index < unpacked.data.length; index += 1) {
      const changed = Uint8Array.from(unpacked.data)
      changed[index] = (changed[index] ?? 0) ^ 0x80
      const expected = index === 64 ? ['reject bad-signature'] : ['reject wrong-signer', 'reject bad-signature']
      expect(expected).toContain(judge(message, compressSnappy(changed)))
    }
  })

  it.each(NAMES)('%s: rejects a message with any changed compressed byte', (name) => {
    const { recording, judge } = forRecording(name)
    for (const message of recording.messages) {
      expect(judge(message, message.compressed.subarray(0, -1))).toBe('reject snappy-damaged')
    }
    const [message] = recording.messages
    if (message === undefined) throw new Error('recording is empty')
    const { compressed } = message
    const original = unpackMessage(compressed)
    const reasons = new Set<string>()
    for (let index = 0; index < compressed.length; index += 1) {
      const changed = Uint8Array.from(compressed, (byte, at) => (at === index ? byte ^ 0x04 : byte))
      const unpacked = unpackMessage(changed)
      // A copy element that points to another place in a run of zeros: the same message, compressed differently.
      if (unpacked.ok && original.ok && Buffer.compare(unpacked.data, original.data) === 0) continue
      reasons.add(judge(message, changed))
    }
    expect([...reasons].filter((reason) => !PACKED_REASONS.has(reason))).toEqual([])
    expect(reasons.size).toBeGreaterThan(1)
  })

  it.each(NAMES)('%s: names the changed field of a body that the sequencer has signed again', (name) => {
    const { recording, judge } = forRecording(name, SEQUENCER_ADDRESS)
    const [message] = recording.messages
    const unpacked = message && unpackMessage(message.compressed)
    if (message === undefined || unpacked?.ok !== true) throw new Error('recording is empty')
    const body = unpacked.data.subarray(65)
    const root = name === 'holocene' ? 32 : 0
    const resigned = (bytes: Uint8Array) => compressSnappy(signBody(bytes, recording.chainId))
    expect(judge(message, resigned(body))).toBe('accept')
    for (let index = 0; index < body.length; index += 1) {
      const changed = Uint8Array.from(body, (byte, at) => (at === index ? byte ^ 0x80 : byte))
      const verdict = judge(message, resigned(changed))
      expect([index - root, ...reasonsForByte(index - root, name)]).toContain(verdict)
    }
  })
})

describe('createBlockValidator', () => {
  it.each<Fork>(['regolith', 'canyon', 'ecotone', 'holocene', 'isthmus', 'jovian'])(
    'accepts a valid block of %s once',
    (fork) => {
      const { judge, block } = setUp(fork)
      const envelope = block()
      const verdict = judge(envelope)
      expect(reasonOf(verdict)).toBe('accept')
      if (verdict.result === 'accept') expect(verdict.envelope).toEqual(envelope)
      expect(reasonOf(judge(envelope))).toBe('ignore already-seen')
    },
  )

  it('rejects a message that is too short for a signature and one byte', () => {
    expect(reasonOf(setUp().judgeRaw(new Uint8Array(65)))).toBe('reject too-small')
    expect(reasonOf(setUp().judgeRaw(new Uint8Array(66).fill(1)))).toBe('reject wrong-signer')
  })

  it.each([
    ['no signer known', undefined],
    ['a zero signer', ZERO_ADDRESS],
  ])('ignores every message, also garbage, with %s', (_id, signer) => {
    const { judge, judgeRaw, block, state } = setUp()
    state.signer = signer
    expect(reasonOf(judge(block()))).toBe('ignore no-signer-configured')
    expect(reasonOf(judgeRaw(new Uint8Array(100)))).toBe('ignore no-signer-configured')
  })

  it('rejects a signature of another key, and an invalid signature', () => {
    const { judge, judgeRaw, block, config, version } = setUp()
    expect(reasonOf(judge(block(), new Uint8Array(32).fill(9)))).toBe('reject wrong-signer')
    const body = encodePayloadEnvelope(block(), version)
    expect(reasonOf(judgeRaw(concatBytes(new Uint8Array(65), body)))).toBe('reject bad-signature')
    const message = signedMessage(block(), version, config.l2ChainId, SEQUENCER_KEY)
    message[64] = (message[64] ?? 0) + 27
    expect(reasonOf(judgeRaw(message))).toBe('reject bad-signature')
  })

  it('rejects a signature made for another chain', () => {
    const { judgeRaw, block, version } = setUp()
    expect(reasonOf(judgeRaw(signedMessage(block(), version, 902n, SEQUENCER_KEY)))).toBe('reject wrong-signer')
  })

  it.each([
    [NOW_S - 60, 'accept'],
    [NOW_S - 61, 'reject too-old'],
    [NOW_S + 5, 'accept'],
    [NOW_S + 6, 'reject from-future'],
  ])('at timestamp %d: %s', (timestamp, expected) => {
    const { judge, block } = setUp()
    expect(reasonOf(judge(block({ timestamp })))).toBe(expected)
  })

  it('rejects a block encoded in the format of another version', () => {
    const { judge, block } = setUp('holocene')
    const verdict = judge({ payload: { ...block().payload } }, SEQUENCER_KEY, 2)
    expect(reasonOf(verdict)).toBe('reject wrong-hash')
    expect(reasonOf(setUp('holocene').judgeRaw(signedV2(), 3))).toBe('reject bad-encoding')
    function signedV2(): Uint8Array {
      const canyon = setUp('canyon')
      return signedMessage(canyon.block(), 2, canyon.config.l2ChainId, SEQUENCER_KEY)
    }
  })

  it.each<Fork>(['canyon', 'holocene', 'isthmus'])('rejects withdrawals on %s, even with a matching hash', (fork) => {
    const { judge, block } = setUp(fork)
    const withdrawals = [{ index: 0n, validatorIndex: 0n, address: ZERO_ADDRESS, amount: 1n }]
    expect(reasonOf(judge(block({ withdrawals })))).toBe('reject withdrawals')
  })

  it.each([
    ['holocene', { blobGasUsed: 1n }, 'reject blob-gas'],
    ['isthmus', { blobGasUsed: 1n }, 'reject blob-gas'],
    ['jovian', { blobGasUsed: 100_000n }, 'accept'],
    ['jovian', { excessBlobGas: 1n }, 'reject blob-gas'],
    ['holocene', { excessBlobGas: 1n }, 'reject blob-gas'],
  ] as const)('with the blob gas fields on %s, %o: %s', (fork, changes, expected) => {
    const { judge, block } = setUp(fork)
    expect(reasonOf(judge(block(changes)))).toBe(expected)
  })

  it('accepts six blocks at one height, then rejects a seventh and a repeated one', () => {
    const { judge, block } = setUp()
    const blocks = [0, 1, 2, 3, 4, 5, 6].map((n) => block({ blockNumber: 7, gasUsed: BigInt(n) }))
    const reasons = blocks.map((envelope) => reasonOf(judge(envelope)))
    expect(reasons).toEqual([...Array<string>(6).fill('accept'), 'reject too-many-at-height'])
    const [first] = blocks
    if (first === undefined) throw new Error('no block')
    expect(reasonOf(judge(first))).toBe('reject too-many-at-height')
    expect(reasonOf(judge(block({ blockNumber: 8 })))).toBe('accept')
  })

  it('does not count a rejected block at its height', () => {
    const { judge, block } = setUp()
    for (let n = 0; n < 10; n++) judge(block({ blockNumber: 7, blockHash: `0x${'ab'.repeat(32)}` }))
    expect(reasonOf(judge(block({ blockNumber: 7 })))).toBe('accept')
  })

  it('checks the signer of an asynchronous inspection when the inspection ends', async () => {
    const { validate, block, state, version } = setUp()
    const [other, third] = [`0x${'bb'.repeat(20)}`, `0x${'cc'.repeat(20)}`] as const
    const judgeLater = async (meanwhile: () => Inspection | Promise<Inspection>): Promise<Verdict> => {
      const { promise, resolve } = Promise.withResolvers<void>()
      const verdict = validate(version, { ok: true, inspection: promise.then(meanwhile) })
      resolve()
      return verdict
    }
    const inspected = (blockNumber: number): Inspection => {
      const envelope = block({ blockNumber })
      return { stop: 'none', signer: SEQUENCER_ADDRESS, envelope, computedHash: envelope.payload.blockHash }
    }
    expect(await judgeLater(() => inspected(1))).toMatchObject({ result: 'accept' })
    state.signer = other
    expect(await judgeLater(() => inspected(2))).toMatchObject({ result: 'accept' })
    const rotated = await judgeLater(() => {
      state.signer = third
      return inspected(3)
    })
    expect(rotated).toEqual({ result: 'reject', reason: 'wrong-signer', detail: SEQUENCER_ADDRESS })

    const failsWith = (error: Error) => judgeLater(() => Promise.reject(error))
    expect(reasonOf(await failsWith(new InspectionFailure('timed-out', 'late')))).toBe('ignore timed-out')
    expect(reasonOf(await failsWith(new Error('a fault')))).toBe('ignore internal-error')
    state.signer = undefined
    expect(reasonOf(await judgeLater(() => inspected(4)))).toBe('ignore no-signer-configured')
  })

  // A body cannot lack these members or have them too early: its version determines their position.
  it.each<[string, PayloadVersion, Fork, (envelope: PayloadEnvelope) => void, string]>([
    ['withdrawals in version 1', 1, 'canyon', () => {}, 'withdrawals'],
    ['no withdrawals in version 2', 2, 'canyon', ({ payload }) => delete payload.withdrawals, 'withdrawals'],
    ['no withdrawals in version 4', 4, 'isthmus', ({ payload }) => delete payload.withdrawals, 'withdrawals'],
    ['blob gas in version 2', 2, 'canyon', ({ payload }) => Object.assign(payload, { blobGasUsed: 0n }), 'blob-gas'],
    [
      'excess blob gas in version 2',
      2,
      'canyon',
      ({ payload }) => Object.assign(payload, { excessBlobGas: 0n }),
      'blob-gas',
    ],
    ['no blob gas in version 3', 3, 'holocene', ({ payload }) => delete payload.blobGasUsed, 'blob-gas'],
    ['no beacon root in version 3', 3, 'holocene', (it) => delete it.parentBeaconBlockRoot, 'beacon-root'],
    [
      'no withdrawals root in version 4',
      4,
      'isthmus',
      ({ payload }) => delete payload.withdrawalsRoot,
      'withdrawals-root',
    ],
  ])('rejects an inspected block with %s', async (_, version, fork, change, reason) => {
    const { validate, block } = setUp(fork)
    const envelope = block()
    change(envelope)
    const computedHash = envelope.payload.blockHash
    const inspection: Inspection = { stop: 'none', signer: SEQUENCER_ADDRESS, envelope, computedHash }
    const verdict = await validate(version, { ok: true, inspection: Promise.resolve(inspection) })
    expect(reasonOf(verdict)).toBe(`reject ${reason}`)
  })

  it('ignores a block with too many transactions, and names it', async () => {
    const { validate, block, version } = setUp()
    const envelope = block({ blockNumber: 7 })
    const inspection = Promise.resolve<Inspection>({ stop: 'too-many-transactions', envelope })
    const named = { number: 7, hash: envelope.payload.blockHash }
    expect(await validate(version, { ok: true, inspection })).toEqual({
      ...{ result: 'ignore', reason: 'too-many-transactions', block: named },
    })
  })

  it('returns a verdict for arbitrary bytes', () => {
    const { judgeRaw, judgeMessage } = setUp()
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 1200 }), (data) => {
        expect(judgeRaw(data).result).toMatch(/^(ignore|reject)$/)
        expect(judgeMessage(data).result).toMatch(/^(ignore|reject)$/)
      }),
    )
  })
})

function signBody(body: Uint8Array, chainId: bigint): Uint8Array {
  const { r, s, yParity } = signHash(payloadSigningHashOfBody(chainId, body), SEQUENCER_KEY)
  return concatBytes(r, s, Uint8Array.of(yParity), body)
}
