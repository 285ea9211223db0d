import type { Connection, Stream, StreamMessageEvent } from '@libp2p/interface'
import { type Clock, sleep, unixSeconds } from '../../lib/clock.ts'
import { DecodeError, DeviumError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'
import { createTokenBuckets, TokenBucket } from '../../lib/tokenBucket.ts'
import { l2BlockNumberAt } from '../../rollup/protocol/config/forks.ts'
import { transactionTotals } from '../../rollup/protocol/index.ts'
import type { PayloadEnvelope } from '../../rollup/protocol/types.ts'
import type { P2pChain } from '../base/options.ts'
import { createPerPeerLimiter } from '../base/perPeerLimiter.ts'
import { type Readable, readFirst, type Writable, writeAll, writeParts } from '../base/streams.ts'
import {
  decodeRequest,
  REQUEST_BYTES,
  RESULT,
  type ResultCode,
  responseParts,
  TRANSFER_TIMEOUT_MS,
} from './payloadByNumber.ts'

/**
 * All peers together: op-node's rate (sync.go), with a burst for a gap of some minutes. One peer: four times op-node's
 * rate, with a burst for a one-minute outage at a block a second. The longest wait is op-node's.
 */
export const GLOBAL_LIMIT = { perSecond: 20, burst: 256 } as const
export const PEER_LIMIT = { perSecond: 16, burst: 64 } as const
const MAX_WAIT_MS = 20_000
/** Bytes of a block for one token. Of blocks above 1 MiB a peer gets fewer a second than from op-node. */
const TOKEN_BYTES = 256 * 1024
const PEERS_REMEMBERED = 1000
/** Answers of one peer in memory until the peer has read them; each may have 10 MiB. The peer's other requests wait. */
const ANSWERS_AT_ONCE = { atOnce: 2, maxWaiting: 64 }
/** A newer protocol may send more than `REQUEST_BYTES`, but not more than this. */
export const MAX_REQUEST_BYTES = 1024

export interface PayloadServerModules {
  chain: P2pChain
  /** A known good block that the chain does not have yet. */
  recent(number: number): PayloadEnvelope | undefined
  clock: Clock
  logger: Logger
  /** The peer sent a longer request than allowed. Its stream is reset. */
  onOversized(peerId: string): void
  metrics: { onRequest(role: 'server', number: number, resultCode: number, seconds: number): void }
}

class RequestFailure extends DeviumError<'request-refused'> {
  readonly result: ResultCode
  constructor(result: ResultCode, message: string) {
    super('request-refused', message)
    this.result = result
  }
}

export type ServedStream = Readable & Writable & Pick<Stream, 'abort'>

/** Serves `payload_by_number`. In every case the stream is closed or reset, and nothing is thrown. */
export function createPayloadServer(modules: PayloadServerModules) {
  const { chain, clock, logger, metrics } = modules
  const everyone = new TokenBucket(clock, GLOBAL_LIMIT)
  const bucketOf = createTokenBuckets(clock, PEER_LIMIT, PEERS_REMEMBERED)
  const limiter = createPerPeerLimiter(ANSWERS_AT_ONCE)

  const waitForTurn = async (bucket: TokenBucket, signal: AbortSignal): Promise<void> => {
    const waitMs = Math.max(everyone.take(), bucket.take())
    if (waitMs > MAX_WAIT_MS) {
      everyone.giveBack()
      bucket.giveBack()
      throw new RequestFailure(RESULT.unknownError, 'too many requests')
    }
    if (waitMs > 0) await sleep(clock, waitMs, signal)
  }
  const answer = async (number: number, peer: string): Promise<Iterable<Uint8Array>> => {
    const { config } = chain
    const nowS = unixSeconds(clock)
    if (number < config.genesis.l2.number || nowS < config.genesis.l2Time || number > l2BlockNumberAt(config, nowS)) {
      throw new RequestFailure(RESULT.invalidRequest, `no block ${number} at this time`)
    }
    const envelope = (await chain.payloadByNumber(number)) ?? modules.recent(number)
    if (envelope === undefined) throw new RequestFailure(RESULT.notFound, `block ${number} not found`)
    bucketOf(peer).take(Math.floor(transactionTotals(envelope.payload).bytes / TOKEN_BYTES))
    return responseParts(envelope, config)
  }

  return async (stream: ServedStream, connection: Pick<Connection, 'remotePeer'>): Promise<void> => {
    const startMs = clock.now()
    const peer = connection.remotePeer.toString()
    const stop = new AbortController()
    let number = 0
    let result: ResultCode = RESULT.ok
    let hasBegun = false
    stream.addEventListener('close', () => stop.abort(new Error('stream closed')))
    watchLength(stream, () => modules.onOversized(peer))
    try {
      // Read before waiting for a token: the bytes may arrive together with the stream.
      const timeout = AbortSignal.timeout(TRANSFER_TIMEOUT_MS)
      const request = await readFirst(stream, REQUEST_BYTES, timeout)
      await waitForTurn(bucketOf(peer), stop.signal)
      number = decodeRequest(request)
      const answering = limiter.run(peer, async () => {
        stop.signal.throwIfAborted()
        const parts = await answer(number, peer)
        hasBegun = true
        await writeParts(stream, parts, AbortSignal.timeout(TRANSFER_TIMEOUT_MS))
      })
      if (answering === undefined) throw new RequestFailure(RESULT.unknownError, 'too many requests')
      await answering
    } catch (error) {
      result = resultOf(error)
      logger.debug('Request for a block failed', { peer, number, result, err: error })
      try {
        // A partial answer cannot be replaced by an error code.
        if (hasBegun) throw error
        await writeAll(stream, Uint8Array.of(result), AbortSignal.timeout(TRANSFER_TIMEOUT_MS))
      } catch (cause) {
        stream.abort(cause instanceof Error ? cause : new Error('request failed'))
      }
    }
    metrics.onRequest('server', number, result, (clock.now() - startMs) / 1000)
  }
}

/** Discards bytes after the request while the stream is open. Too many of them reset the stream. */
function watchLength(stream: ServedStream, onOversized: () => void): void {
  let received = 0
  let isOver = false
  stream.addEventListener('message', ({ data }: StreamMessageEvent) => {
    received += data.byteLength
    if (received <= MAX_REQUEST_BYTES || isOver) return
    isOver = true
    onOversized()
    stream.abort(new Error(`a request of more than ${MAX_REQUEST_BYTES} bytes`))
  })
}

function resultOf(error: unknown): ResultCode {
  if (error instanceof RequestFailure) return error.result
  if (error instanceof DecodeError) return RESULT.invalidRequest
  return RESULT.unknownError
}
