import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import { DecodeError } from '../../lib/errors.ts'
import { silentLogger } from '../../lib/logger.ts'
import { TokenBucket } from '../../lib/tokenBucket.ts'
import type { PayloadEnvelope } from '../../rollup/protocol/types.ts'
import { P2pError } from '../base/errors.ts'
import { InspectionFailure } from '../inspection/inspectionProcess.ts'
import { settableClock } from '../testUtils/clocks.ts'
import { testBlock, testConfig } from '../testUtils/testChain.ts'
import { type Answer, createBlockClient } from './client.ts'
import { RESULT } from './payloadByNumber.ts'

const config = testConfig()
const blockOf = (blockNumber: number): PayloadEnvelope => testBlock(config, { blockNumber })

interface SentRequest {
  atMs: number
  peer: string
  number: number
  answer(answer: Answer): Promise<void>
  fail(error: Error): Promise<void>
}

function setUp(peers: string[]) {
  const clock = new ManualClock(0)
  const { clock: wallClock, set: setClock } = settableClock(clock)
  const requests: SentRequest[] = []
  const blocks: [number, string][] = []
  const results: string[] = []
  /** Result code of each request, as in the metrics. */
  const codes: number[] = []
  const runCallbacks = () => clock.advance(0)
  const client = createBlockClient({
    clock: wallClock,
    logger: silentLogger,
    candidates: () => [...peers],
    request: (peer, number) =>
      new Promise((resolve, reject) => {
        requests.push({
          atMs: clock.now(),
          peer,
          number,
          async answer(answer) {
            resolve(answer)
            await runCallbacks()
          },
          async fail(error) {
            reject(error)
            await runCallbacks()
          },
        })
      }),
    onBlock: ({ payload }, from) => blocks.push([payload.blockNumber, from]),
    onResult: (peer, outcome) => results.push(`${peer}: ${outcome}`),
    metrics: { onRequest: (_role, _number, code) => codes.push(code) },
  })
  const enqueue = (...numbers: number[]) => {
    for (const number of numbers) client.enqueue(number)
    return runCallbacks()
  }
  const last = (): SentRequest => {
    const found = requests.at(-1)
    if (found === undefined) throw new Error('nobody was asked')
    return found
  }
  const give = (one: SentRequest) => one.answer({ code: RESULT.ok, envelope: blockOf(one.number) })
  /** Also answers requests that are sent meanwhile. */
  const giveAll = async (): Promise<void> => {
    for (let index = 0; index < requests.length; index++) await give(requests[index] ?? last())
  }
  return { clock, setClock, client, requests, blocks, results, codes, enqueue, last, give, giveAll }
}

describe('createBlockClient', () => {
  it('requests the highest block first, one at a time from each peer', async () => {
    const { requests, enqueue, giveAll, blocks } = setUp(['a', 'b'])
    await enqueue(1, 2, 3)
    expect(requests.map(({ peer, number }) => [peer, number])).toEqual([
      ['a', 3],
      ['b', 2],
    ])
    await giveAll()
    expect(blocks.map(([number]) => number)).toEqual([3, 2, 1])
    expect(requests).toHaveLength(3)
  })

  it('requests from some more peers when the first are slow, and uses only the first answer', async () => {
    const { clock, requests, enqueue, last, give, blocks } = setUp(['a', 'b', 'c', 'd', 'e'])
    await enqueue(7)
    await clock.advance(9_000)
    expect(requests.map(({ peer, atMs }) => [peer, atMs])).toEqual([
      ['a', 0],
      ['b', 500],
      ['c', 1_500],
      ['d', 3_500],
    ])
    await give(last())
    // A peer that owes an answer gets no other request.
    await enqueue(8)
    expect(last()).toMatchObject({ peer: 'e', number: 8 })
    for (const late of requests.slice(0, 3)) await give(late)
    expect(blocks).toEqual([[7, 'd']])
  })

  it('soon retries a peer that does not have a block yet, without a penalty', async () => {
    const { clock, requests, enqueue, last, give, blocks, results } = setUp(['a'])
    await enqueue(7)
    for (let misses = 0; misses < 5; misses++) {
      await last().answer({ code: RESULT.notFound })
      await clock.advance(2_000)
    }
    await give(last())
    expect(blocks).toEqual([[7, 'a']])
    // 250 ms, 500 ms, 1 s, then always 2 s, each counted from an answer. The clock advances in steps of 2 s.
    expect(requests.map(({ atMs }) => atMs)).toEqual([0, 250, 2_500, 5_000, 8_000, 10_000])
    expect(results).toEqual(['a: valid'])
  })

  it('does not prolong the pause of a peer when the clock was set back', async () => {
    const { clock, setClock, requests, enqueue, last } = setUp(['a'])
    await enqueue(5)
    await last().answer({ code: RESULT.notFound })
    setClock(-600_000)
    await enqueue(6)
    await clock.advance(3_000)
    expect(requests.map(({ number }) => number)).toEqual([5, 6])
  })

  it('drops a block that no peer has', async () => {
    const { clock, requests, enqueue, last } = setUp(['a'])
    await enqueue(7)
    for (let second = 0; second < 60; second++) {
      if (requests.length > 0) await last().answer({ code: RESULT.notFound })
      await clock.advance(1_000)
    }
    const before = requests.length
    await clock.advance(60_000)
    expect(requests).toHaveLength(before)
    expect(last().atMs).toBeLessThanOrEqual(20_000)
  })

  it('accepts a block that is being received at the time limit', async () => {
    const { clock, enqueue, last, give, blocks } = setUp(['a', 'b'])
    await enqueue(7)
    while (clock.now() < 18_000) {
      await last().answer({ code: RESULT.notFound })
      await clock.advance(2_000)
    }
    const pending = last()
    await clock.advance(3_000)
    await enqueue(8)
    await give(pending)
    expect(blocks).toEqual([[7, pending.peer]])
  })

  it('pauses a failed peer, and requests from another', async () => {
    const { clock, requests, enqueue, last, give, results } = setUp(['a', 'b'])
    await enqueue(7)
    await last().fail(new P2pError('request-failed', 'no answer'))
    expect(last().peer).toBe('b')
    await give(last())
    await enqueue(8, 9)
    expect(requests.slice(2).map(({ peer }) => peer)).toEqual(['b'])
    await clock.advance(4_000)
    expect(requests.slice(3).map(({ peer }) => peer)).toEqual(['a'])
    expect(results).toEqual(['a: error', 'b: valid'])
  })

  it.each([
    [RESULT.notFound, [], 1],
    [RESULT.invalidRequest, ['a: error'], 2],
    [RESULT.unknownError, ['a: error'], 3],
    [200, ['a: error'], 5],
    [new DecodeError('no block'), ['a: error'], 5],
  ])('counts the answer %s', async (answer, blame, label) => {
    const { enqueue, last, results, codes } = setUp(['a'])
    await enqueue(7)
    await (typeof answer === 'number' ? last().answer({ code: answer }) : last().fail(answer))
    expect(results).toEqual(blame)
    expect(codes).toEqual([label])
  })

  it('requests a block only once from a peer that failed, and drops it when all have failed', async () => {
    const { clock, client, requests, enqueue, last } = setUp(['a', 'b', 'liar'])
    client.enqueue(7, 'liar')
    await clock.advance(0)
    await last().fail(new P2pError('request-failed', 'no answer'))
    await last().fail(new P2pError('request-failed', 'no answer'))
    await clock.advance(10_000)
    expect(requests.map(({ peer }) => peer)).toEqual(['a', 'b'])
    await enqueue(7)
    expect(requests).toHaveLength(3)
    // A peer that proves to be lying while another is asked is skipped too.
    client.enqueue(7, 'b')
    await last().answer({ code: RESULT.notFound })
    await clock.advance(100)
    expect(last().peer).toBe('liar')
  })

  it('prefers the peer that answered fastest', async () => {
    const { clock, requests, enqueue, give } = setUp(['a', 'b', 'c'])
    await enqueue(1, 2, 3)
    for (const one of [...requests].reverse()) {
      await clock.advance(100)
      await give(one)
    }
    await enqueue(4)
    await clock.advance(10_000)
    expect(requests.slice(3).map(({ peer, number }) => [peer, number])).toEqual([
      ['c', 4],
      ['b', 4],
      ['a', 4],
    ])
  })

  it('queues a hundred and twenty-eight blocks, and requests twenty a second from all peers together', async () => {
    const { clock, client, requests, give } = setUp(Array.from({ length: 20 }, (_, n) => `peer${n}`))
    let number = 10_000
    const fill = (): void => {
      while (client.enqueue(number)) number -= 1
    }
    const answerAll = async (): Promise<void> => {
      for (let index = 0; index < requests.length; index++) {
        const one = requests[index]
        if (one !== undefined) await give(one)
        if (index % 100 === 99) fill()
      }
    }
    fill()
    expect(number).toBe(10_000 - 128)
    await clock.advance(0)
    await answerAll()
    expect(requests).toHaveLength(256)
    for (let n = 0; n < 20; n++) {
      await clock.advance(50)
      await answerAll()
    }
    expect(requests).toHaveLength(276)
  })

  it.each([
    ['connection-lost', new P2pError('connection-lost', 'gone'), 250, [7, 8, 7]],
    ['not-served', new P2pError('not-served', 'gone'), 60_000, [7, 8]],
    ['timed-out', new InspectionFailure('timed-out', 'not read'), 250, [7, 8, 7]],
    ['worker-failed', new InspectionFailure('worker-failed', 'not read'), 3_750, [7, 8]],
  ])('does not penalise %s, and requests again after a pause', async (_code, error, pauseMs, numbers) => {
    const { clock, requests, enqueue, last, giveAll, results } = setUp(['a'])
    await enqueue(7)
    await last().fail(error)
    expect(results).toEqual([])
    await clock.advance(pauseMs - 1)
    await enqueue(8)
    expect(requests).toHaveLength(1)
    await clock.advance(1)
    await giveAll()
    await clock.advance(10_000)
    expect(requests.map(({ number }) => number)).toEqual(numbers)
  })

  it('requests a gap of a minute at once, then sixteen blocks a second', async () => {
    const { clock, requests, enqueue, giveAll } = setUp(['a'])
    await enqueue(...Array.from({ length: 100 }, (_, index) => index))
    await giveAll()
    expect(requests).toHaveLength(64)
    for (let count = 0; count < 8; count++) {
      await clock.advance(62)
      await clock.advance(1)
      await giveAll()
    }
    expect(requests).toHaveLength(72)
  })

  it("stays within op-node's rate limit for a peer that answers as late as a limiting op-node", async () => {
    const { clock, requests, enqueue, last, give } = setUp(['a'])
    await enqueue(...Array.from({ length: 120 }, (_, index) => index))
    // op-node's bucket: a request without a token waits for it, and delays all peers.
    const server = new TokenBucket(clock, { perSecond: 4, burst: 15 })
    let waits = 0
    const serveUntil = async (endMs: number) => {
      for (let served = requests.length - 1; clock.now() < endMs; ) {
        if (served === requests.length) {
          await clock.advance(5)
          continue
        }
        served += 1
        const waitMs = server.take()
        if (waitMs > 0) waits += 1
        await clock.advance(waitMs + 1)
        await give(last())
      }
    }
    await serveUntil(10_000)
    expect(waits).toBeLessThanOrEqual(2)
    // 15 at once, then four a second.
    expect(requests.length).toBeGreaterThanOrEqual(50)
    expect(requests.length).toBeLessThanOrEqual(56)
  })

  it('continues as soon as a peer becomes available', async () => {
    const peers: string[] = []
    const { clock, client, requests, enqueue } = setUp(peers)
    await enqueue(7)
    peers.push('a')
    await clock.advance(1_000)
    expect(requests).toHaveLength(0)
    client.onCandidate()
    await clock.advance(0)
    expect(requests).toHaveLength(1)
  })

  it('drops unwanted blocks', async () => {
    const { client, requests, enqueue, giveAll } = setUp(['a'])
    await enqueue(1, 2, 3, 4)
    client.dropBelow(3)
    await giveAll()
    expect(requests.map(({ number }) => number)).toEqual([4, 3])
  })

  it('raises the request rate of a peer ten seconds after its last late answer', async () => {
    const { clock, requests, enqueue, last, give } = setUp(['a'])
    await enqueue(...Array.from({ length: 100 }, (_, index) => index))
    await clock.advance(200)
    await give(last())
    const countFor = async (ms: number): Promise<number> => {
      const before = requests.length
      for (const endMs = clock.now() + ms; clock.now() < endMs; ) {
        const count = requests.length
        await clock.advance(10)
        if (requests.length > count) await give(last())
      }
      return requests.length - before
    }
    expect(await countFor(9_900)).toBeLessThanOrEqual(40)
    await countFor(200)
    expect(await countFor(2_000)).toBeGreaterThan(28)
  })

  it('sends no request after its stop, and penalises no peer for aborted requests', async () => {
    const { clock, client, requests, enqueue, last, results } = setUp(['a', 'b'])
    await enqueue(1, 2, 3)
    client.stop()
    await last().fail(new P2pError('request-failed', 'stopping'))
    await enqueue(4)
    await clock.advance(60_000)
    expect(requests).toHaveLength(2)
    expect(results).toEqual([])
  })
})
