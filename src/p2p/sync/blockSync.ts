import { type Connection, ConnectionClosedError, type Stream, UnsupportedProtocolError } from '@libp2p/interface'
import { type Clock, unixSeconds } from '../../lib/clock.ts'
import { describeError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'
import { l2BlockTime } from '../../rollup/protocol/config/forks.ts'
import type { PayloadEnvelope } from '../../rollup/protocol/types.ts'
import { P2pError } from '../base/errors.ts'
import type { P2pEvents } from '../base/events.ts'
import type { P2pChain, P2pOptions } from '../base/options.ts'
import { readAll, writeAll } from '../base/streams.ts'
import type { Host } from '../host/host.ts'
import type { InspectionProcess } from '../inspection/inspectionProcess.ts'
import { MAX_RESPONSE_BYTES } from '../inspection/unpackBlock.ts'
import type { PeerRegistry } from '../peers/registry.ts'
import type { AppScores } from '../reputation/appScores.ts'
import { createAnswerReader } from './answerReader.ts'
import { type Answer, createBlockClient } from './client.ts'
import { encodeRequest, OPEN_TIMEOUT_MS, payloadByNumberProtocols, TRANSFER_TIMEOUT_MS } from './payloadByNumber.ts'
import { createPayloadServer } from './server.ts'
import { createTrustedBlocks } from './trustedBlocks.ts'

/** op-node's value: a gap with an older first block is left to derivation. */
const MAX_RANGE_AGE_S = 12 * 60 * 60
/** Only peers with a false block in the last ten block times, or with nothing but errors, are below this score. */
const MIN_APP_SCORE = -10
/** Limit of inbound request streams per peer. */
const MAX_INBOUND_STREAMS = 16

/** A connection's multiplexer ends before its status says so. Then libp2p throws ConnectionClosedError. */
export function isConnectionLost({ status }: Pick<Connection, 'status'>, error: unknown): boolean {
  return status !== 'open' || error instanceof ConnectionClosedError
}

/** Serves blocks by number, and fills gaps below blocks that gossip validated. */
export function createBlockSync(
  modules: {
    host: Host
    chain: P2pChain
    clock: Clock
    logger: Logger
    metrics: {
      onRequest(role: 'client' | 'server', number: number, resultCode: number, seconds: number): void
      setQuarantined(count: number): void
    }
    appScores: AppScores
    events: P2pEvents
    peers: Pick<PeerRegistry, 'connected' | 'isStatic'>
    connection(peerId: string): Connection | undefined
    onOversizedRequest(peerId: string): void
    inspector: Pick<InspectionProcess, 'unpackBlock'>
  },
  options: P2pOptions['sync'],
) {
  const { host, chain, clock, logger, metrics, appScores, events, peers } = modules
  const { config } = chain
  const protocols = payloadByNumberProtocols(config.l2ChainId)
  const readAnswer = createAnswerReader(modules.inspector, config)
  const controller = new AbortController()

  const request = async (peerId: string, number: number): Promise<Answer> => {
    const connection = modules.connection(peerId)
    if (connection === undefined) throw new P2pError('connection-lost', 'not connected')
    let bytes: Uint8Array
    const signal = (ms: number): AbortSignal => AbortSignal.any([controller.signal, AbortSignal.timeout(ms)])
    try {
      const stream = await connection.newStream(protocols, { signal: signal(OPEN_TIMEOUT_MS) })
      bytes = await requestOn(stream, number, signal)
    } catch (error) {
      if (error instanceof UnsupportedProtocolError) {
        throw new P2pError('not-served', 'the peer does not serve blocks by number', { cause: error })
      }
      if (!isConnectionLost(connection, error)) throw error
      throw new P2pError('connection-lost', `connection lost: ${describeError(error)}`, { cause: error })
    }
    return readAnswer(bytes, number, peerId)
  }
  const requestOn = async (
    stream: Stream,
    number: number,
    signal: (ms: number) => AbortSignal,
  ): Promise<Uint8Array> => {
    try {
      const transfer = signal(TRANSFER_TIMEOUT_MS)
      // Start reading before the request is sent: the answer may arrive in the next packet.
      const reading = readAll(stream, MAX_RESPONSE_BYTES, transfer)
      const [bytes] = await Promise.all([reading, writeAll(stream, encodeRequest(number), transfer)])
      return bytes
    } catch (error) {
      stream.abort(error instanceof Error ? error : new Error('request failed'))
      throw error
    }
  }
  const blocks = createTrustedBlocks({
    onTrusted: (envelope, from) => events.emit('block', envelope, from, 'request'),
    onRejected(from, number) {
      logger.debug('Peer sent a false block', { peer: from, number })
      appScores.record(from, 'rejectedPayloads', `block ${number} is not on this chain`)
      client.enqueue(number, from)
    },
  })
  const client = createBlockClient({
    clock,
    logger,
    metrics,
    request,
    candidates: () =>
      peers
        .connected()
        .filter((peerId) => (!options.onlyStatic || peers.isStatic(peerId)) && appScores.score(peerId) > MIN_APP_SCORE),
    onBlock(envelope, from) {
      blocks.offer(envelope, from)
      metrics.setQuarantined(blocks.quarantined())
    },
    onResult(peerId, outcome, detail) {
      appScores.record(peerId, outcome === 'valid' ? 'validResponses' : 'errorResponses', detail)
    },
  })

  const onTrustedBlock = (envelope: PayloadEnvelope): void => {
    blocks.trust(envelope)
    metrics.setQuarantined(blocks.quarantined())
  }
  events.on('connected', client.onCandidate)
  events.on('block', (envelope, _, way) => {
    if (way === 'gossip') onTrustedBlock(envelope)
  })

  return {
    async start(): Promise<void> {
      if (!options.enabled) return
      await host.handle(
        protocols,
        createPayloadServer({
          chain,
          recent: blocks.recent,
          clock,
          logger,
          metrics,
          onOversized: modules.onOversizedRequest,
        }),
        { maxInboundStreams: MAX_INBOUND_STREAMS },
      )
    },
    async stop(): Promise<void> {
      controller.abort(new P2pError('not-running', 'stopping'))
      client.stop()
      // If the host never started, there is nothing to unregister.
      if (options.enabled) await host.unhandle(protocols).catch(() => {})
    },
    /** Reports a block of this node's sequencer. Blocks from gossip are received by event. */
    onTrustedBlock,
    /**
     * Requests the blocks from `start` (inclusive) to `end` (exclusive). `above`, the block at `end`, must be known
     * good. Without it, the gap is requested only if gossip delivered the block above it. False when no request is
     * made: no peer serves blocks by number (op-node from v1.20 on does not), or the gap is too old.
     */
    requestRange(start: number, end: number, above?: PayloadEnvelope): boolean {
      if (!options.enabled || end <= start) return false
      if (above !== undefined && above.payload.blockNumber === end) blocks.trust(above)
      client.dropBelow(start)
      if (unixSeconds(clock) - l2BlockTime(config, start) > MAX_RANGE_AGE_S) {
        logger.debug('Gap is too old to request', { start, end })
        return false
      }
      if (!blocks.hasLink(end) && !blocks.hasLink(end - 1)) {
        logger.debug('Gap is not requested: gossip did not deliver the block above it', { start, end })
        return false
      }
      for (let number = end - 1; number >= start; number--) {
        if (!blocks.has(number) && !client.enqueue(number)) break
      }
      return client.canRequest()
    },
  }
}
