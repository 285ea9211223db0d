import type { Connection, Stream, StreamMessageEvent } from '@libp2p/interface'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { until } from '../../lib/testUtils/until.ts'
import { type HostileHost, type HostileHostOptions, startHostileHost } from '../hostile/hostileHost.ts'
import type { Victims } from './hostileSetup.ts'

/** More streams than libp2p opens by default. */
export const MANY_STREAMS = { maxOutboundStreams: 100_000 }

/** Collects the bytes that arrive on the stream from now on. */
export function collect(stream: Stream): number[] {
  const bytes: number[] = []
  stream.addEventListener('message', ({ data }: StreamMessageEvent) => bytes.push(...data.subarray()))
  return bytes
}

/** One hostile host for each test of a file, against the same victims, which must keep receiving blocks. */
export function hostileVisits(start: () => Promise<Victims>) {
  let victims: Victims
  let hostile: HostileHost
  beforeAll(async () => {
    victims = await start()
  })
  afterEach(async () => {
    await victims.expectBlock()
    await hostile.stop()
  })
  afterAll(() => victims.stop())

  /** Waits until the follower knows the connection, since before that it cannot penalise the peer. */
  const connectAgain = async (): Promise<Connection> => {
    const connection = await hostile.connect(victims.follower.address)
    await until('the connection', () => victims.follower.node.connectedPeers().includes(hostile.peerId))
    return connection
  }
  /** For a test that connects by itself. */
  const come = async (options: HostileHostOptions = {}): Promise<HostileHost> => {
    hostile = await startHostileHost(options)
    return hostile
  }
  return {
    victims: () => victims,
    hostile: () => hostile,
    come,
    connectAgain,
    async connect(options: HostileHostOptions = {}): Promise<Connection> {
      await come(options)
      return connectAgain()
    },
    blamed: (offence: string, times = 1) =>
      until(offence, async () => (await victims.count(hostile.peerId, 'behaviour', offence)) >= times),
    isClosed: (connection: Connection) => until('the end of the connection', () => connection.status !== 'open'),
    /** The history says that the node ended the connection for this reason. */
    async endedBecause(reason: string): Promise<void> {
      await until('the end', async () => (await victims.count(hostile.peerId, 'disconnected', 'by-us')) > 0)
      const end = (await victims.events(hostile.peerId)).find(({ kind }) => kind === 'disconnected')
      expect(end?.detail).toContain(reason)
    },
  }
}
