import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { concatBytes } from '../../lib/bytes.ts'
import { ManualClock, systemClock } from '../../lib/clock.ts'
import { DecodeError } from '../../lib/errors.ts'
import { silentLogger } from '../../lib/logger.ts'
import { signHash } from '../../lib/secp256k1.ts'
import { encodePayloadEnvelope, MAX_BLOCK_TRANSACTIONS, payloadSigningHashOfBody } from '../../rollup/protocol/index.ts'
import type { RollupConfig } from '../../rollup/protocol/types.ts'
import { compressSnappy } from '../snappyBlock.ts'
import { loadGossipRecording } from '../testUtils/gossipRecording.ts'
import { signedMessage } from '../testUtils/signedMessage.ts'
import { CHAIN_ID, SEQUENCER_ADDRESS, SEQUENCER_KEY, testBlock, testConfig } from '../testUtils/testChain.ts'
import { createBlockValidator, createQuestions, type Verdict } from './blockValidator.ts'
import { createInspectionThread, type InspectionThread } from './inspectionThread.ts'
import { identifyMessage, unpackMessage } from './messageId.ts'
import { MIN_MESSAGE_BYTES } from './params.ts'
import { createSeenBlocks } from './seenBlocks.ts'
import { createSigners } from './signers.ts'
import { blocksTopic, type PayloadVersion } from './topics.ts'

const NOW_S = 1_700_000_000
const TOPIC = blocksTopic(CHAIN_ID, 3)
const FAULTY = new URL('../testUtils/faultyWorker.ts', import.meta.url)

/** For all tests that nothing happens to it in: V8 now and then ends a process in which threads come and go. */
const lasting = createInspectionThread({ clock: systemClock, logger: silentLogger })
afterAll(() => lasting.close())

function startThread(clock = systemClock, options: Parameters<typeof createInspectionThread>[1] = {}) {
  const thread = createInspectionThread({ clock, logger: silentLogger }, options)
  onTestFinished(thread.close)
  return thread
}

/** Judges messages twice, here and on the thread, each with a memory of its own, and checks that nothing differs. */
function judgeBothWays(config: RollupConfig, signer = SEQUENCER_ADDRESS) {
  return async (compressed: Uint8Array, version: PayloadVersion, atMs: number): Promise<Verdict> => {
    const clock = new ManualClock(atMs)
    const topic = blocksTopic(config.l2ChainId, version)
    const signers = createSigners({ current: () => signer, clock })
    const validator = () => createBlockValidator({ config, clock, signers, seen: createSeenBlocks() }, { maxAgeS: 60 })
    const question = createQuestions({ config, clock, signers }, { maxAgeS: 60 })(version)

    const here = identifyMessage(topic, compressed, unpackMessage(compressed))
    const there = await lasting.identify({ topic, compressed, from: 'peer', question })
    expect(there.id).toEqual(here.id)
    expect(there.idWithoutTopic).toEqual(here.idWithoutTopic)
    const verdict = await validator()(version, here.unpacked)
    expect(await validator()(version, there.unpacked)).toEqual(verdict)
    return verdict
  }
}

const reasonOf = (verdict: Verdict): string => (verdict.result === 'accept' ? 'accept' : verdict.reason)

describe('the verdict by way of the thread', () => {
  it.each(['regolith', 'canyon', 'holocene'] as const)("is that of here for op-node's messages on %s", async (name) => {
    const recording = loadGossipRecording(name)
    const config = testConfig(name, { l2ChainId: recording.chainId })
    const judge = judgeBothWays(config, recording.signer)
    const reasons = new Set<string>()
    for (const { topic, compressed, receivedAtMs } of recording.messages) {
      const version = ([1, 2, 3] as const).find((v) => topic === blocksTopic(recording.chainId, v)) ?? 4
      expect(reasonOf(await judge(compressed, version, receivedAtMs))).toBe('accept')
      reasons.add(reasonOf(await judge(compressed, version, receivedAtMs + 90_000)))
      reasons.add(reasonOf(await judge(compressed, version === 3 ? 2 : 3, receivedAtMs)))
      const damaged = Uint8Array.from(compressed)
      for (let at = 0; at < damaged.length; at += 97) {
        damaged[at] = (damaged[at] ?? 0) ^ 0x55
        reasons.add(reasonOf(await judge(damaged, version, receivedAtMs)))
        damaged[at] = (damaged[at] ?? 0) ^ 0x55
      }
    }
    expect(reasons.size).toBeGreaterThan(3)
  })

  it('is that of here for large blocks, whatever is wrong with them', async () => {
    const config = testConfig('holocene')
    const judge = judgeBothWays(config)
    const transactions = Array.from({ length: 1_000 }, (_, n) => new Uint8Array(190 + (n % 9)).fill(n))
    const good = testBlock(config, { timestamp: NOW_S, transactions })
    const stale = testBlock(config, { timestamp: NOW_S - 100, transactions })
    const message = (envelope = good, key = SEQUENCER_KEY) => compressSnappy(signedMessage(envelope, 3, CHAIN_ID, key))
    const otherKey = new Uint8Array(32).fill(9)
    const manyTransactions = testBlock(config, {
      timestamp: NOW_S,
      transactions: new Array(MAX_BLOCK_TRANSACTIONS + 1).fill(Uint8Array.of(1)),
    })
    const cases: [string, Uint8Array][] = [
      ['accept', message()],
      ['wrong-signer', message(good, otherKey)],
      ['too-old', message(stale)],
      ['too-old', message(stale, otherKey)],
      ['wrong-hash', message({ ...good, payload: { ...good.payload, gasUsed: 1n } })],
      ['bad-signature', compressSnappy(new Uint8Array(10_000_000))],
      ['bad-encoding', compressSnappy(new Uint8Array(300_000).fill(1))],
      ['snappy-damaged', message().subarray(0, -1)],
      [
        'accept',
        message(testBlock(config, { timestamp: NOW_S, transactions: new Array(40_000).fill(new Uint8Array(0)) })),
      ],
      ['too-many-transactions', message(manyTransactions)],
      ['wrong-signer', message(manyTransactions, otherKey)],
    ]
    for (const [reason, compressed] of cases) {
      expect(reasonOf(await judge(compressed, 3, NOW_S * 1000))).toBe(reason)
    }
  })

  it('is that of here for whatever bytes come, signed by the sequencer or by nobody', async () => {
    const config = testConfig('isthmus')
    const judge = judgeBothWays(config)
    const body = encodePayloadEnvelope(testBlock(config, { timestamp: NOW_S }), 4)
    const signed = (bytes: Uint8Array): Uint8Array => {
      const { r, s, yParity } = signHash(payloadSigningHashOfBody(CHAIN_ID, bytes), SEQUENCER_KEY)
      return concatBytes(r, s, Uint8Array.of(yParity), bytes)
    }
    const changed = fc
      .tuple(fc.nat(body.length - 1), fc.nat(255))
      .map(([index, value]) => signed(Uint8Array.from(body, (byte, at) => (at === index ? value : byte))))
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(fc.uint8Array({ maxLength: 900 }), changed, fc.uint8Array().map(signed)),
        fc.boolean(),
        async (bytes, pack) => {
          const compressed = pack ? compressSnappy(bytes) : bytes
          const unpacked = unpackMessage(compressed)
          // The thread gets none that are too small to be a block.
          fc.pre(!unpacked.ok || unpacked.data.length >= MIN_MESSAGE_BYTES)
          await judge(compressed, 4, NOW_S * 1000)
        },
      ),
      { numRuns: 300 },
    )
  })
})

describe('createInspectionThread', () => {
  const config = testConfig('holocene')
  const question = { version: 3, chainId: CHAIN_ID, signers: [SEQUENCER_ADDRESS], earliest: 0, latest: NOW_S } as const
  const large = compressSnappy(
    signedMessage(
      testBlock(config, { timestamp: NOW_S, transactions: [new Uint8Array(200_000).fill(3)] }),
      3,
      CHAIN_ID,
      SEQUENCER_KEY,
    ),
  )
  const ask = (thread: InspectionThread, topic = TOPIC, from = 'peer') =>
    thread.identify({ topic, compressed: large, from, question })
  const inspect = async (thread: InspectionThread): Promise<string> => {
    const { unpacked } = await ask(thread)
    if (!unpacked.ok || unpacked.data !== undefined) throw new Error('not inspected')
    return (await unpacked.inspection).stop
  }

  it.each(['die', 'throw'])('starts anew after a breakdown (%s), which costs the message its verdict', async (how) => {
    const thread = startThread(systemClock, { file: FAULTY })
    const [broken, after] = await Promise.allSettled([ask(thread, how), inspect(thread)])
    expect(broken).toMatchObject({ status: 'rejected', reason: { reason: 'worker-failed' } })
    expect(after.status).toBe('fulfilled')
    expect(await inspect(thread)).toBe('none')
  })

  it('has a verdict by its time limit or none, and puts an end to a thread that hangs', async () => {
    const clock = new ManualClock(NOW_S * 1000)
    const thread = startThread(clock, { file: FAULTY })
    const hanging = ask(thread, 'hang')
    const waiting = ask(thread)
    clock.advance(3_000)
    await expect(hanging).rejects.toMatchObject({ reason: 'timed-out' })
    await expect(waiting).rejects.toMatchObject({ reason: 'timed-out' })
    expect(await inspect(thread)).toBe('none')
  })

  it('takes on a bounded number of messages, a few of each peer', async () => {
    const clock = new ManualClock()
    const thread = startThread(clock, { file: FAULTY })
    const first = ask(thread, 'hang')
    const greedy = Array.from({ length: 10 }, () => ask(thread, TOPIC, 'greedy'))
    const others = Array.from({ length: 30 }, (_, n) => ask(thread, TOPIC, `peer ${n}`))
    const reasons = Promise.allSettled([first, ...greedy, ...others]).then((results) =>
      results.map((result) => (result.status === 'rejected' ? result.reason.reason : 'answered')),
    )
    clock.advance(3_000)
    const overloaded = (await reasons).map((reason) => reason === 'overloaded')
    expect(overloaded[0]).toBe(false)
    // One of the greedy peer's six makes room for each newcomer until it has no more than they.
    expect(overloaded.slice(1, 11)).toEqual([false, ...new Array(9).fill(true)])
    expect(overloaded.slice(11)).toEqual([...new Array(23).fill(false), ...new Array(7).fill(true)])
  })

  it('fails what waits when it is closed, and what comes later', async () => {
    const thread = startThread(systemClock, { file: FAULTY })
    const settled = Promise.allSettled([ask(thread, 'hang'), ask(thread)])
    await thread.close()
    expect((await settled).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    await expect(ask(thread)).rejects.toMatchObject({ reason: 'worker-failed' })
  })

  it.each(['die', 'throw'])('starts anew after a breakdown (%s), which costs the answer its block', async (how) => {
    const thread = startThread(systemClock, { file: FAULTY })
    const unpacking = thread.unpackBlock({ frames: new TextEncoder().encode(how), version: 3 }, 'peer')
    await expect(unpacking).rejects.toMatchObject({ reason: 'worker-failed' })
    await expect(thread.unpackBlock({ frames: new Uint8Array(3), version: 3 }, 'peer')).rejects.toThrow(DecodeError)
    expect(await inspect(thread)).toBe('none')
  })

  it('has an answer by its time limit or none, and takes on a few of each peer', async () => {
    const clock = new ManualClock()
    const thread = startThread(clock, { file: FAULTY })
    const unpack = (text: string) => thread.unpackBlock({ frames: new TextEncoder().encode(text), version: 3 }, 'peer')
    const unpacking = Promise.allSettled([unpack('hang'), ...Array.from({ length: 7 }, () => unpack('more'))])
    clock.advance(3_000)
    const reasons = (await unpacking).map((result) => result.status === 'rejected' && result.reason.reason)
    expect(reasons).toEqual([...new Array(7).fill('timed-out'), 'overloaded'])
    await thread.close()
    await expect(unpack('late')).rejects.toMatchObject({ reason: 'worker-failed' })
  })

  it('does not keep the process alive', async () => {
    const script = `
      import { createInspectionThread } from '${new URL('./inspectionThread.ts', import.meta.url).href}'
      import { systemClock } from '${new URL('../../lib/clock.ts', import.meta.url).href}'
      import { silentLogger } from '${new URL('../../lib/logger.ts', import.meta.url).href}'
      const thread = createInspectionThread({ clock: systemClock, logger: silentLogger })
      const question = { version: 3, chainId: 901n, signers: [], earliest: 0, latest: 0 }
      const compressed = Uint8Array.from(Buffer.from('${Buffer.from(large).toString('base64')}', 'base64'))
      const { unpacked } = await thread.identify({ topic: 'topic', compressed, from: 'peer', question })
      console.log((await unpacked.inspection).stop)`
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script])
    expect(stdout).toBe('untimely\n')
  })
})
