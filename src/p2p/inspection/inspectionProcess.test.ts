import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import fc from 'fast-check'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { isAlive } from '../../../test/support/processes.ts'
import { concatBytes } from '../../lib/bytes.ts'
import { type Clock, ManualClock } from '../../lib/clock.ts'
import { DecodeError } from '../../lib/errors.ts'
import { silentLogger } from '../../lib/logger.ts'
import { nextTurn } from '../../lib/nextTurn.ts'
import { signHash } from '../../lib/secp256k1.ts'
import { propertyRuns } from '../../lib/testUtils/propertyRuns.ts'
import { until } from '../../lib/testUtils/until.ts'
import { startWorkProcess, type WorkProcess } from '../../lib/workProcess/workProcess.ts'
import { encodePayloadEnvelope, MAX_BLOCK_TRANSACTIONS, payloadSigningHashOfBody } from '../../rollup/protocol/index.ts'
import type { RollupConfig } from '../../rollup/protocol/types.ts'
import { compressSnappy } from '../base/snappyBlock.ts'
import { blocksTopic, type PayloadVersion } from '../base/topics.ts'
import type { Verdict } from '../base/verdict.ts'
import { createBlockValidator, createValidationContexts } from '../gossip/blockValidator.ts'
import { MIN_MESSAGE_BYTES } from '../gossip/params.ts'
import { createSeenBlocks } from '../gossip/seenBlocks.ts'
import { createSigners } from '../gossip/signers.ts'
import { unhurriedClock } from '../testUtils/clocks.ts'
import { loadGossipRecording } from '../testUtils/gossipRecording.ts'
import { gossipMessage } from '../testUtils/signedMessage.ts'
import { CHAIN_ID, SEQUENCER_ADDRESS, SEQUENCER_KEY, TOPIC, testBlock, testConfig } from '../testUtils/testChain.ts'
import { createInspectionProcess, type InspectionProcess } from './inspectionProcess.ts'
import type { Answer, Task } from './inspectionTask.ts'
import { messageId, unpackMessage } from './messageId.ts'

const NOW_S = 1_700_000_000
const FAULTY = new URL('../testUtils/faultyInspection.ts', import.meta.url)
const startFaulty = (onAnswer: (answer: Answer, bytes: Uint8Array) => void) =>
  startWorkProcess<Task, Answer>(FAULTY, onAnswer)
const faulty = { startChild: startFaulty }

const unhurried = unhurriedClock()

/** Shared by all tests that do not break it. */
const lasting = createInspectionProcess({ clock: unhurried, logger: silentLogger })
afterAll(() => lasting.close())

function startProcess(clock: Clock = unhurried, options: Parameters<typeof createInspectionProcess>[1] = {}) {
  const inspector = createInspectionProcess({ clock, logger: silentLogger }, options)
  onTestFinished(inspector.close)
  return inspector
}

/** Validates messages here and in the process, each with its own memory of seen blocks, and expects equal verdicts. */
function judgeBothWays(config: RollupConfig, signer = SEQUENCER_ADDRESS) {
  return async (compressed: Uint8Array, version: PayloadVersion, atMs: number): Promise<Verdict> => {
    const clock = new ManualClock(atMs)
    const topic = blocksTopic(config.l2ChainId, version)
    const signers = createSigners({ current: () => signer, clock })
    const validator = () => createBlockValidator({ config, clock, signers, seen: createSeenBlocks() }, { maxAgeS: 60 })
    const context = createValidationContexts({ config, clock, signers }, { maxAgeS: 60 })(version)

    const unpacked = unpackMessage(compressed)
    const there = await lasting.identify({ topic, compressed, from: 'peer', context })
    expect(there.id).toEqual(messageId(topic, compressed, unpacked))
    const verdict = await validator()(version, unpacked)
    expect(await validator()(version, there.unpacked)).toEqual(verdict)
    return verdict
  }
}

const reasonOf = (verdict: Verdict): string => (verdict.result === 'accept' ? 'accept' : verdict.reason)

describe('the verdict of the process', () => {
  it.each(['regolith', 'canyon', 'holocene'] as const)(
    "equals the verdict in the main process for op-node's messages on %s",
    async (name) => {
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
    },
  )

  it('equals the verdict in the main process for valid and invalid large blocks', async () => {
    const config = testConfig('holocene')
    const judge = judgeBothWays(config)
    const transactions = Array.from({ length: 1_000 }, (_, n) => new Uint8Array(190 + (n % 9)).fill(n))
    const blockOf = (transactions: Uint8Array[]) => testBlock(config, { timestamp: NOW_S, transactions })
    const good = blockOf(transactions)
    const stale = testBlock(config, { timestamp: NOW_S - 100, transactions })
    const otherKey = new Uint8Array(32).fill(9)
    const manyTransactions = blockOf(new Array(MAX_BLOCK_TRANSACTIONS + 1).fill(Uint8Array.of(1)))
    const cases: [string, Uint8Array][] = [
      ['accept', gossipMessage(good)],
      ['wrong-signer', gossipMessage(good, otherKey)],
      ['too-old', gossipMessage(stale)],
      ['too-old', gossipMessage(stale, otherKey)],
      ['wrong-hash', gossipMessage({ ...good, payload: { ...good.payload, gasUsed: 1n } })],
      ['bad-signature', compressSnappy(new Uint8Array(10_000_000))],
      ['bad-encoding', compressSnappy(new Uint8Array(300_000).fill(1))],
      ['snappy-damaged', gossipMessage(good).subarray(0, -1)],
      ['accept', gossipMessage(blockOf(new Array(40_000).fill(new Uint8Array(0))))],
      ['too-many-transactions', gossipMessage(manyTransactions)],
      ['wrong-signer', gossipMessage(manyTransactions, otherKey)],
    ]
    for (const [reason, compressed] of cases) {
      expect(reasonOf(await judge(compressed, 3, NOW_S * 1000))).toBe(reason)
    }
  })

  it('equals the verdict in the main process for arbitrary bytes, signed or not', async () => {
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
          // The process never receives messages that are too small for a block.
          fc.pre(!unpacked.ok || unpacked.data.length >= MIN_MESSAGE_BYTES)
          await judge(compressed, 4, NOW_S * 1000)
        },
      ),
      { numRuns: propertyRuns(100) },
    )
  })
})

describe('createInspectionProcess', () => {
  const config = testConfig('holocene')
  const context = { version: 3, chainId: CHAIN_ID, signers: [SEQUENCER_ADDRESS], earliest: 0, latest: NOW_S } as const
  const large = gossipMessage(testBlock(config, { timestamp: NOW_S, transactions: [new Uint8Array(200_000).fill(3)] }))
  const submit = (inspector: InspectionProcess, topic = TOPIC, from = 'peer') =>
    inspector.identify({ topic, compressed: large, from, context })
  const inspect = async (inspector: InspectionProcess): Promise<string> => {
    const { unpacked } = await submit(inspector)
    if (!unpacked.ok || unpacked.data !== undefined) throw new Error('not inspected')
    return (await unpacked.inspection).stop
  }

  /** The process id, if the faulty process runs. */
  const pidOf = async (inspector: InspectionProcess): Promise<number> =>
    Number(await submit(inspector, 'tell').catch((error: Error) => error.message))

  it('restarts after each crash, and rejects the message or answer that crashed it', async () => {
    const inspector = startProcess(unhurried, faulty)
    const unpack = (frames: Uint8Array) => inspector.unpackBlock({ frames, version: 3 }, 'peer')
    const [broken, after] = await Promise.allSettled([submit(inspector, 'crash'), inspect(inspector)])
    expect(broken).toMatchObject({ status: 'rejected', reason: { reason: 'worker-failed' } })
    expect(after).toMatchObject({ status: 'fulfilled', value: 'none' })
    await expect(unpack(new TextEncoder().encode('die'))).rejects.toMatchObject({ reason: 'worker-failed' })
    await expect(unpack(new Uint8Array(3))).rejects.toThrow(DecodeError)
    await expect(submit(inspector, 'throw')).rejects.toMatchObject({ reason: 'worker-failed' })
    expect(await inspect(inspector)).toBe('none')
  })

  it('delays restarts of a process that crashes again and again', async () => {
    const clock = new ManualClock()
    let starts = 0
    const inspector = startProcess(clock, {
      startChild(onAnswer) {
        starts += 1
        return startFaulty(onAnswer)
      },
    })
    const breakdown = async (): Promise<void> => {
      await expect(submit(inspector, 'die')).rejects.toMatchObject({ reason: 'worker-failed' })
    }
    await breakdown()
    await breakdown()
    const third = breakdown()
    clock.advance(99)
    expect(starts).toBe(2)
    clock.advance(1)
    expect(starts).toBe(3)
    await third
    const fourth = inspect(inspector)
    clock.advance(199)
    expect(starts).toBe(3)
    clock.advance(1)
    expect(await fourth).toBe('none')
    // The restarted process was used.
    await breakdown()
    expect(await inspect(inspector)).toBe('none')
    expect(starts).toBe(5)
  })

  it('rejects at the time limit, and kills a process that hangs', async () => {
    const clock = new ManualClock(NOW_S * 1000)
    const inspector = startProcess(clock, faulty)
    expect(await inspect(inspector)).toBe('none')
    const hanging = submit(inspector, 'hang')
    const waiting = submit(inspector)
    await nextTurn()
    clock.advance(3_000)
    await expect(hanging).rejects.toMatchObject({ reason: 'timed-out' })
    await expect(waiting).rejects.toMatchObject({ reason: 'timed-out' })
    expect(await inspect(inspector)).toBe('none')
  })

  it('allows a process half a minute to load before a time limit kills it', async () => {
    const clock = new ManualClock(NOW_S * 1000)
    let kills = 0
    let loaded = (): void => {}
    const inspector = startProcess(clock, {
      startChild(onAnswer) {
        const child = startFaulty(onAnswer)
        const ready = new Promise<void>((resolve) => {
          loaded = resolve
        })
        const kill = (): Promise<string> => {
          kills += 1
          return child.kill()
        }
        return { ...child, ready, kill }
      },
    })
    const noVerdictIn = async (ms: number): Promise<void> => {
      await Promise.all([
        expect(submit(inspector, 'hang')).rejects.toMatchObject({ reason: 'timed-out' }),
        clock.advance(ms),
      ])
    }
    await noVerdictIn(29_999)
    expect(kills).toBe(0)
    await clock.advance(1)
    expect(kills).toBe(1)

    await noVerdictIn(20_000)
    loaded()
    await nextTurn()
    await clock.advance(2_999)
    expect(kills).toBe(1)
    await clock.advance(1)
    expect(kills).toBe(2)
  })

  it('limits waiting messages and answers, in total and per peer', async () => {
    const clock = new ManualClock()
    const inspector = startProcess(clock, faulty)
    expect(await inspect(inspector)).toBe('none')
    const first = submit(inspector, 'hang')
    const greedy = Array.from({ length: 10 }, (_, n) =>
      n % 2 === 0 ? submit(inspector, TOPIC, 'greedy') : inspector.unpackBlock({ frames: large, version: 3 }, 'greedy'),
    )
    const others = Array.from({ length: 30 }, (_, n) => submit(inspector, TOPIC, `peer ${n}`))
    const reasons = Promise.allSettled([first, ...greedy, ...others]).then((results) =>
      results.map((result) => (result.status === 'rejected' ? result.reason.reason : 'answered')),
    )
    await nextTurn()
    await clock.advance(3_000)
    const overloaded = (await reasons).map((reason) => reason === 'overloaded')
    expect((await reasons).filter((reason) => reason !== 'overloaded')).toEqual(new Array(25).fill('timed-out'))
    expect(overloaded[0]).toBe(false)
    // One of the greedy peer's six is evicted for each new peer, until it has no more than the others.
    expect(overloaded.slice(1, 11)).toEqual([false, ...new Array(9).fill(true)])
    expect(overloaded.slice(11)).toEqual([...new Array(23).fill(false), ...new Array(7).fill(true)])
  })

  it('rejects waiting and later jobs when it is closed', async () => {
    const inspector = startProcess(unhurried, faulty)
    const settled = Promise.allSettled([submit(inspector, 'hang'), submit(inspector)])
    await inspector.close()
    expect((await settled).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    await expect(submit(inspector)).rejects.toMatchObject({ reason: 'worker-failed' })
    const late = inspector.unpackBlock({ frames: large, version: 3 }, 'peer')
    await expect(late).rejects.toMatchObject({ reason: 'worker-failed' })
  })

  it.each<[string, (child: WorkProcess<Task>, submitted: Promise<unknown>[]) => unknown]>([
    ['at once', () => {}],
    ['while it starts', nextTurn],
    ['as soon as it has loaded', ({ ready }) => ready],
    ['while it inspects a message', (_, submitted) => Promise.race(submitted)],
  ])('can be closed %s', async (_when, moment) => {
    const started = Promise.withResolvers<WorkProcess<Task>>()
    const startChild = (onAnswer: (answer: Answer, bytes: Uint8Array) => void): WorkProcess<Task> => {
      const child = startFaulty(onAnswer)
      started.resolve(child)
      return child
    }
    const inspector = startProcess(unhurried, { startChild })
    const submitted = [submit(inspector), submit(inspector)]
    const settled = Promise.allSettled(submitted)
    const child = await started.promise
    await moment(child, submitted)
    await inspector.close()
    await child.ended
    await settled
  })

  it('the process ignores SIGINT, SIGTERM and SIGHUP', async () => {
    const inspector = startProcess(unhurried, faulty)
    const pid = await pidOf(inspector)
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.kill(pid, signal)
    expect(await pidOf(inspector)).toBe(pid)
  })

  it('the process ends when the node ends, also when the node is killed', async () => {
    const program = `
      import { createInspectionProcess } from '${new URL('./inspectionProcess.ts', import.meta.url).href}'
      import { systemClock } from '${new URL('../../lib/clock.ts', import.meta.url).href}'
      import { silentLogger } from '${new URL('../../lib/logger.ts', import.meta.url).href}'
      import { startWorkProcess } from '${new URL('../../lib/workProcess/workProcess.ts', import.meta.url).href}'
      const limits = { timeLimitMs: 600_000, stuckMs: 600_000 }
      const options = { ...limits, startChild: startWorkProcess.bind(undefined, new URL('${FAULTY.href}')) }
      const inspector = createInspectionProcess({ clock: systemClock, logger: silentLogger }, options)
      const context = { version: 3, chainId: 901n, signers: [], earliest: 0, latest: 0 }
      const compressed = new Uint8Array(1)
      await inspector.identify({ topic: 'tell', compressed, from: 'peer', context }).catch(({ message }) => console.log(message))
      setInterval(() => {}, 1_000)`
    const node = spawn(process.execPath, ['--input-type=module', '--eval', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    onTestFinished(() => void node.kill('SIGKILL'))
    const lines = createInterface({ input: node.stdout })[Symbol.asyncIterator]()
    const pid = Number((await lines.next()).value)
    expect(isAlive(pid)).toBe(true)
    node.kill('SIGKILL')
    await until('the end of the process', () => !isAlive(pid))
  })
})
