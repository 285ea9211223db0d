import { type GossipSub, gossipsub, StrictNoSign } from '@chainsafe/libp2p-gossipsub'
import { noise } from '@chainsafe/libp2p-noise'
import { type Identify, identify } from '@libp2p/identify'
import { type Connection, type IdentifyResult, StreamCloseEvent } from '@libp2p/interface'
import { mplex } from '@libp2p/mplex'
import { tcp } from '@libp2p/tcp'
import { yamux } from '@libp2p/yamux'
import { multiaddr } from '@multiformats/multiaddr'
import { createLibp2p, type Libp2p } from 'libp2p'
import { type Clock, sleep } from '../../../../lib/clock.ts'
import { describeError } from '../../../../lib/errors.ts'
import type { Identity } from '../../../../p2p/host/identity.ts'
import { silentComponentLogger } from '../../../../p2p/host/libp2pLogger.ts'
import { tcpMultiaddr } from '../../../../p2p/host/multiaddrs.ts'
import { createHandshakeTracer } from './handshakeTrace.ts'
import type { Endpoint } from './resolve.ts'

/** When the peer closed the connection, in milliseconds after it opened. */
export interface ConnectionEnd {
  afterMs: number
  cause: string
}

/** The peer's answer to libp2p's identify. */
export interface PeerFacts {
  agent: string
  protocolVersion: string
  protocols: string[]
  /** Our address as the peer sees it. */
  observedAddress: string | undefined
}

type SessionHost = Libp2p<{ identify: Identify; pubsub: GossipSub }>

/** A peer may announce more topics after its first message. In practice all topics fit one message. */
const MORE_TOPICS_MS = 150
/** Limit of topics of one peer; an OP Stack node has four. */
const MAX_TOPICS = 64
const STOP_TIMEOUT_MS = 1_000

/** A connection to one peer, by a temporary libp2p host. */
export type PeerSession = Awaited<ReturnType<typeof openPeerSession>>

/** Dials and returns the outcome. Rejects only with the signal's reason. The peer sees a libp2p node with gossipsub. */
export async function openPeerSession(
  modules: { clock: Clock; identity: Identity },
  endpoint: Endpoint,
  options: { timeoutMs: number; signal?: AbortSignal | undefined },
) {
  const { clock } = modules
  const tracer = createHandshakeTracer(clock)
  const host: SessionHost = await createLibp2p({
    privateKey: modules.identity.privateKey,
    logger: silentComponentLogger,
    nodeInfo: { userAgent: 'devium-check' },
    addresses: { listen: [] },
    transports: [tcp({ dialOpts: { noDelay: true } })],
    connectionEncrypters: [(components) => tracer.encrypter(noise()(components))],
    streamMuxers: [() => tracer.muxer(yamux()()), () => tracer.muxer(mplex()())],
    connectionManager: { reconnectRetries: 0, dialTimeout: options.timeoutMs, addressDialTimeout: options.timeoutMs },
    connectionMonitor: { enabled: false },
    services: {
      // Called explicitly, so that its error is visible.
      identify: identify({ runOnConnectionOpen: false }),
      pubsub: gossipsub({ globalSignaturePolicy: StrictNoSign }),
    },
  })
  const topics = new Set<string>()
  let announced: (() => void) | undefined
  host.services.pubsub.addEventListener('subscription-change', ({ detail }) => {
    for (const { topic, subscribe } of detail.subscriptions) {
      if (!subscribe) topics.delete(topic)
      else if (topics.size < MAX_TOPICS) topics.add(topic)
    }
    announced?.()
  })

  let end: ConnectionEnd | undefined
  const ended = new AbortController()
  const startMs = clock.now()
  let openedMs = startMs
  const timeout = AbortSignal.timeout(options.timeoutMs)
  const signal = options.signal === undefined ? timeout : AbortSignal.any([options.signal, timeout])
  host.addEventListener('connection:open', ({ detail: connection }) => {
    openedMs = clock.now()
    connection.addEventListener('close', (event) => {
      const error = event instanceof StreamCloseEvent ? event.error : undefined
      end ??= { afterMs: clock.now() - openedMs, cause: error === undefined ? 'closed' : describeError(error) }
      ended.abort()
    })
  })
  const stop = async (): Promise<void> => {
    await Promise.race([Promise.resolve(host.stop()).catch(() => {}), sleepUntil(clock, STOP_TIMEOUT_MS, undefined)])
  }

  tracer.begin()
  let connection: Connection | undefined
  let dialError: unknown
  try {
    connection = await host.dial(multiaddr(tcpMultiaddr(endpoint.ip, endpoint.tcpPort)), { signal })
  } catch (error) {
    dialError = error
    if (options.signal?.aborted) {
      await stop()
      throw options.signal.reason
    }
  }
  return {
    trace: tracer.trace,
    /** Undefined: the dial failed, with this error. */
    connection,
    dialError,
    tookMs: clock.now() - startMs,
    /** Undefined while the connection is open. */
    end: (): ConnectionEnd | undefined => end,
    /** Resolves when the connection has ended, or after this time. */
    watch: (forMs: number): Promise<void> => sleepUntil(clock, forMs, ended.signal),
    /** Rejects when the peer does not answer. */
    async identify(open: Connection, timeoutMs: number): Promise<PeerFacts> {
      const limit = AbortSignal.any([AbortSignal.timeout(timeoutMs), ended.signal])
      return factsOf(await host.services.identify.identify(open, { signal: limit }))
    },
    /** The peer's subscribed topics. Waits for its first subscription message, or the end of the connection. */
    async topics(timeoutMs: number): Promise<string[]> {
      if (topics.size === 0) {
        const word = new AbortController()
        announced = () => word.abort()
        await sleepUntil(clock, timeoutMs, AbortSignal.any([word.signal, ended.signal]))
      }
      if (topics.size > 0) await sleepUntil(clock, MORE_TOPICS_MS, ended.signal)
      return [...topics].sort()
    },
    stop,
  }
}

function factsOf(result: IdentifyResult): PeerFacts {
  return {
    agent: result.agentVersion ?? '',
    protocolVersion: result.protocolVersion ?? '',
    protocols: [...result.protocols].sort(),
    observedAddress: result.observedAddr?.toString().replace(/\/p2p\/.*$/, ''),
  }
}

/** Resolves after the time, or when the signal aborts. */
const sleepUntil = (clock: Clock, delayMs: number, signal: AbortSignal | undefined): Promise<void> =>
  sleep(clock, delayMs, signal).catch(() => {})
