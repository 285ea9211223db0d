import { randomBytes } from 'node:crypto'
import type { Connection, Stream } from '@libp2p/interface'
import { describe, expect, it } from 'vitest'
import { until } from '../lib/testUtils/until.ts'
import { DEFAULT_P2P_OPTIONS } from './base/options.ts'
import { MAX_INBOUND_GOSSIP_STREAMS } from './gossip/params.ts'
import { MAX_INBOUND_STREAMS } from './host/guardedMuxers.ts'
import { PUSH_PROTOCOL } from './host/identifyPushes.ts'
import { PING_PROTOCOL } from './host/pingServer.ts'
import { MESHSUB, muxerOf, socketOf } from './hostile/hostileHost.ts'
import { varint } from './hostile/rpcCodec.ts'
import { BUDGETS } from './quotas/quotas.ts'
import { encodeRequest, payloadByNumberProtocols, RESULT } from './sync/payloadByNumber.ts'
import { MAX_REQUEST_BYTES } from './sync/server.ts'
import { haltableClock } from './testUtils/clocks.ts'
import { gossiped, HOSTILE_CONFIG, startVictims } from './testUtils/hostileSetup.ts'
import { collect, hostileVisits, MANY_STREAMS } from './testUtils/hostileVisits.ts'
import { CHAIN_ID, TOPIC, testBlock, testChain } from './testUtils/testChain.ts'

const [REQUEST] = payloadByNumberProtocols(CHAIN_ID)
/** yamux: data, window update; SYN, FIN. */
const DATA = 0
const WINDOW_UPDATE = 1
const SYN = 1
const FIN = 4

/** Number of blocks that the follower read from its chain in order to serve them. */
let requests = 0
const { clock, halt } = haltableClock()
const { victims, hostile, come, connect, connectAgain, blamed, isClosed, endedBecause } = hostileVisits(() => {
  const large = testBlock(HOSTILE_CONFIG, { transactions: [new Uint8Array(randomBytes(1_500_000))] })
  const payloadByNumber = async (number: number) => {
    requests += 1
    return { ...large, payload: { ...large.payload, blockNumber: number } }
  }
  const liveness = { ...DEFAULT_P2P_OPTIONS.liveness, closeMs: 600_000 }
  return startVictims({ liveness }, { clock, chain: testChain(HOSTILE_CONFIG, { payloadByNumber }) })
})

describe('a hundred streams', () => {
  const openOf = (streams: Stream[]) => streams.filter(({ status }) => status === 'open').length

  it('a new gossip stream replaces the previous one', async () => {
    const connection = await connect()
    const streams: Stream[] = []
    for (let n = 0; n < 100; n++) {
      const stream = await connection.newStream(MESHSUB, MANY_STREAMS).catch(() => undefined)
      if (stream !== undefined) streams.push(stream)
    }
    await until('the resets', () => openOf(streams) <= MAX_INBOUND_GOSSIP_STREAMS)
    expect(connection.status).toBe('open')
  })

  it('limits streams without a protocol', async () => {
    const connection = await connect()
    const streams: Stream[] = []
    for (let n = 0; n < 100; n++) streams.push(await muxerOf(connection).createStream())
    await until('the refusals', () => openOf(streams) <= MAX_INBOUND_STREAMS)
    expect(connection.status).toBe('open')
  })

  it.each([false, true])(
    'a peer that opens 400 streams again and again is banned, even with a good score (good score: %s)',
    async (isGood) => {
      await come()
      const comeBack = async (blockNumber: number) => {
        const connection = await connectAgain()
        if (isGood) {
          const gossip = await hostile().openGossip(connection)
          gossip.send(
            { subscriptions: [[TOPIC, true]] },
            { messages: [{ topic: TOPIC, data: gossiped({ blockNumber }) }] },
          )
          const total = async () =>
            (await victims().follower.node.peers(true)).peers[hostile().peerId]?.scores.gossip.total ?? 0
          await until('its reward', async () => (await total()) > 0)
        }
        return connection
      }
      const flood = (connection: Connection) => {
        for (let n = 0; n < 400; n++) {
          muxerOf(connection).sendFrame({ type: WINDOW_UPDATE, flag: SYN, streamID: 1_001 + 2 * n, length: 0 })
        }
      }
      const open = async (connection: Connection) => {
        flood(connection)
        await isClosed(connection)
        await until('its end', () => !victims().follower.node.connectedPeers().includes(hostile().peerId))
      }
      await open(await comeBack(1))
      await blamed('muxer-abuse')
      await endedBecause('too many streams')
      await open(await comeBack(2))
      const ban = await victims().banned(hostile().peerId, async () => {
        const connection = await hostile().connect(victims().follower.address)
        // Its points may have decayed on a busy machine.
        if ((await victims().score(hostile().peerId)) >= -100) flood(connection)
      })
      expect(ban.detail).toContain('below -100')
      const refused = await hostile()
        .connect(victims().follower.address)
        .catch(() => undefined)
      if (refused !== undefined) await isClosed(refused)
    },
  )
})

describe('pings', () => {
  it('are answered byte for byte, however they are split', async () => {
    const connection = await connect()
    const stream = await connection.newStream(PING_PROTOCOL, MANY_STREAMS)
    const answer = collect(stream)
    const sent = Array.from({ length: 96 }, (_, n) => n)
    for (const byte of sent) stream.send(Uint8Array.of(byte))
    await until('the answers', () => answer.length === 96)
    expect(answer).toEqual(sent)
  })

  it('are not penalised if they arrive with the end of their stream', async () => {
    const connection = await connect()
    const stream = await connection.newStream(PING_PROTOCOL, MANY_STREAMS)
    const answer = collect(stream)
    stream.send(new Uint8Array(32))
    await until('the answer', () => answer.length === 32)
    const last = { type: DATA, flag: FIN, streamID: Number(stream.id), length: 32 }
    muxerOf(connection).sendFrame(last, new Uint8Array(32))
    await until('the end of the stream', () => stream.remoteWriteStatus === 'closed')
    expect(connection.status).toBe('open')
  })

  it('above the budget are penalised, and their stream is reset', async () => {
    const connection = await connect()
    await halt(async () => {
      for (let round = 1; round <= 3; round++) {
        const stream = await connection.newStream(PING_PROTOCOL, MANY_STREAMS)
        const answer = collect(stream)
        for (let n = 0; n < 40; n++) {
          if (stream.status === 'open') stream.send(new Uint8Array(32 * 8))
          await new Promise((resolve) => setImmediate(resolve))
        }
        await until('the end of the stream', () => stream.status !== 'open')
        // Answers in transit may be lost when the stream is reset.
        expect(answer.length).toBeLessThanOrEqual(round === 1 ? 32 * BUDGETS.pings.burst : 0)
        await blamed('ping-flood', round)
      }
    })
  })
})

describe('identify', () => {
  const LISTEN_ADDRS = 2
  const PROTOCOLS = 3
  const message = (field: number, values: readonly Uint8Array[]): Buffer => {
    const fields = values.flatMap((value) => [Uint8Array.of(field * 8 + 2), varint(value.length), value])
    return Buffer.concat([varint(Buffer.concat(fields).length), ...fields])
  }
  const address = (n: number): Uint8Array => Uint8Array.of(4, 8, 8, n >> 8, n & 0xff, 6, 0x10, 0)
  const push = async (connection: Connection, messages: readonly Buffer[]): Promise<void> => {
    const stream = await connection.newStream(PUSH_PROTOCOL, MANY_STREAMS)
    stream.send(new Uint8Array(Buffer.concat(messages)))
    await stream.close()
    await until('its end', () => stream.status !== 'open')
  }
  const known = async () => (await victims().follower.node.peers(true)).peers[hostile().peerId]

  it('stores only some of thousands of addresses and protocols', async () => {
    const connection = await connect()
    const numbers = Array.from({ length: 700 }, (_, n) => n)
    await push(
      connection,
      Array.from({ length: 5 }, (_, n) =>
        message(
          LISTEN_ADDRS,
          numbers.map((m) => address(n * 700 + m)),
        ),
      ),
    )
    await until(
      'the addresses',
      async () => (await known())?.addresses?.includes(`/ip4/8.8.0.0/tcp/4096/p2p/${hostile().peerId}`) === true,
    )
    await push(connection, [
      message(
        PROTOCOLS,
        numbers.map((n) => Buffer.from(`/${n}`)),
      ),
    ])
    await until('the protocols', async () => (await known())?.protocols?.includes('/0') === true)
    const { addresses, protocols } = (await known()) ?? {}
    expect(addresses?.length).toBeLessThanOrEqual(64)
    expect(protocols?.length).toBeLessThanOrEqual(256 + 1)
  })

  it('reads endless pushes only within the budget', async () => {
    const connection = await connect()
    const read = new Set<string>()
    await halt(async () => {
      for (let n = 0; n < BUDGETS.pushes.burst + 40; n++) {
        await push(connection, [message(PROTOCOLS, [Buffer.from(`/${n}`)])]).catch(() => {})
        for (const protocol of (await known())?.protocols ?? []) if (/^\/\d+$/.test(protocol)) read.add(protocol)
      }
    })
    // A message that is read later than this check is not counted.
    expect(read.size).toBeGreaterThan(0)
    expect(read.size).toBeLessThanOrEqual(BUDGETS.pushes.burst)
    expect(connection.status).toBe('open')
  })
})

describe('requests for blocks', () => {
  it.each([
    ['are too long', MAX_REQUEST_BYTES],
    ['are too short', 3],
  ])('that %s are answered as invalid, without a penalty', async (_what, length) => {
    const connection = await connect()
    const stream = await connection.newStream(REQUEST, MANY_STREAMS)
    const answer = collect(stream)
    stream.send(new Uint8Array(length).fill(0xff))
    // A long one is answered after its first bytes.
    if (length < MAX_REQUEST_BYTES) await stream.close()
    await until('the answer', () => answer.length > 0)
    expect(answer).toEqual([RESULT.invalidRequest])
    expect(await victims().score(hostile().peerId)).toBeGreaterThanOrEqual(0)
  })

  it('of 200 kB have their stream reset, and repeat offenders are banned', async () => {
    const connection = await connect()
    const ban = await victims().banned(hostile().peerId, async () => {
      const stream = await connection.newStream(REQUEST, MANY_STREAMS)
      stream.send(new Uint8Array(200_000))
      await until('the end of the stream', () => stream.status !== 'open')
    })
    expect(ban.detail).toContain('oversized-request')
    await blamed('oversized-request', 9)
  })

  it('wait or are refused without a penalty when there are hundreds', async () => {
    const connection = await connect()
    let resets = 0
    await Promise.all(
      Array.from({ length: 200 }, async () => {
        try {
          const stream = await connection.newStream(REQUEST, MANY_STREAMS)
          stream.addEventListener('close', ({ error }) => {
            if (error !== undefined) resets += 1
          })
          stream.send(encodeRequest(1))
        } catch {
          resets += 1
        }
      }),
    )
    await until('some to be refused', () => resets > 50)
    expect(connection.status).toBe('open')
    expect(await victims().score(hostile().peerId)).toBeGreaterThanOrEqual(0)
  })
})

describe('a peer that reads nothing', () => {
  it('is sent two of its requested blocks, and the other answers wait', async () => {
    const connection = await connect()
    const before = requests
    const streams = await Promise.all(Array.from({ length: 12 }, () => connection.newStream(REQUEST, MANY_STREAMS)))
    socketOf(connection).pause()
    for (const stream of streams) stream.send(encodeRequest(1))
    await until('the first', () => requests >= before + 2)
    for (let n = 0; n < 3; n++) await victims().expectBlock()
    expect(requests).toBe(before + 2)
    socketOf(connection).resume()
    await until('the rest', () => requests === before + 12)
  })

  it('is disconnected when too much data waits for it', async () => {
    await come()
    const gossip = await hostile().join(victims().follower.address, [TOPIC])
    socketOf(gossip.connection).pause()
    const noise = new Uint8Array(randomBytes(3_000_000))
    let published = 0
    const isConnected = () => victims().follower.node.connectedPeers().includes(hostile().peerId)
    while (published < 20 && isConnected()) {
      published += 1
      const block = testBlock(HOSTILE_CONFIG, { blockNumber: 5_000 + published, transactions: [noise] })
      const arrived = victims().follower.block(block.payload.blockHash)
      await victims().sequencer.node.publish(block)
      await arrived
    }
    await until('its end', () => !isConnected())
    await blamed('slow-reader')
    await endedBecause('reads too slowly')
    expect(published).toBeLessThan(20)
    expect(await victims().isBanned(hostile().peerId)).toBe(false)
  })
})
