import type { MessageStream, StreamMuxer, StreamMuxerFactory } from '@libp2p/interface'
import type { Clock } from '../../lib/clock.ts'
import { DeviumError } from '../../lib/errors.ts'
import { TokenBucket } from '../../lib/tokenBucket.ts'

/** A peer broke the multiplexer's rules. Its connection is closed with this error. */
export class MuxerAbuseError extends DeviumError<'muxer-abuse'> {
  /** yamux's code "protocol error", sent to the peer. */
  readonly reason = 1
  constructor(message: string) {
    super('muxer-abuse', message)
  }
}

/** The members of yamux's muxer (libp2p specs: yamux) that the guard uses. */
interface YamuxInternals extends StreamMuxer {
  onData(data: unknown): void
  incomingStream(id: number): void
  handleFrame(frame: { header: { type: number; length: number } }): void
  handlePing(header: { flag: number; length: number }): void
  handleGoAway(reason: number): void
  readonly maConn: Pick<MessageStream, 'close' | 'abort'>
  readonly activePing: { readonly id: number } | undefined
  readonly streams: (StreamMuxer['streams'][number] & { streamId: number; recvWindowCapacity: number })[]
  readonly decoder: { readonly buffer: ChunkList }
}

/** The members of mplex's muxer (libp2p specs: mplex) that the guard uses. */
interface MplexInternals extends StreamMuxer {
  onData(data: unknown): void
  handleMessage(message: { type: number; data?: { readonly byteLength: number } }): void
  readonly decoder: { readonly _buffer: ChunkList }
}

interface ChunkList {
  readonly byteLength: number
  subarray(start?: number, end?: number): Uint8Array
  consume(bytes: number): void
  append(bytes: Uint8Array): void
}

/**
 * Inbound streams per connection. An honest peer has one of gossip, one of identify, one or two pings and a block
 * request.
 */
export const MAX_INBOUND_STREAMS = 64
/** New streams and pings: each costs an answer, even if it is a refusal. go-yamux pings every 30 s. */
const STREAM_RATE = { perSecond: 50, burst: 256 }
const PING_RATE = { perSecond: 10, burst: 100 }
/**
 * Frames with almost no data. Each costs as much as a frame of a kilobyte. The rate is twice the RPC budget, with each
 * RPC in its own frame.
 */
const TINY_FRAME_RATE = { perSecond: 2_000, burst: 8_000 }
const TINY_FRAME_BYTES = 64
/**
 * Limit for a frame of a closed stream: the library's largest window. For an open stream its receive window is the
 * limit.
 */
const MAX_FRAME_BYTES = 16 * 1024 * 1024
/** Unsent bytes of a connection whose peer does not read: twice the largest message. */
const MAX_UNSENT_BYTES = 24 * 1024 * 1024
/**
 * An incomplete frame in more chunks than this is copied into one buffer. A chunk object costs 200 bytes of heap, even
 * for one byte.
 */
const MAX_CHUNKS = 512
const MAX_CHUNKS_OF_LARGE = 16_384

/** Time for unsent data after the peer has sent GOAWAY. */
const GOODBYE_MS = 1_000

const HEADER_BYTES = 12
const DATA_FRAME = 0
const PING_ANSWER = 2
/** mplex's message type. */
const NEW_STREAM = 0
/** Frames a second for closed streams. After a reset, the frames of one or two packets may be in transit. */
export const MPLEX_GONE_PER_SECOND = STREAM_RATE.burst

/** The library's own errors for behaviour that no honest peer shows. */
const LIBRARY_ABUSE_ERRORS: ReadonlySet<string> = new Set([
  'ReceiveWindowExceededError',
  'InvalidFrameError',
  'InvalidMessageError',
])

export interface MuxerGuardModules {
  clock: Clock
  /** Called before the connection is closed. */
  onAbuse(muxer: StreamMuxer, error: Error): void
}

/** Adds limits that the library lacks to yamux. Frames of an unauthenticated peer cost memory, or answers. */
export function guardYamux<Components>(create: Create<Components>, modules: MuxerGuardModules): Create<Components> {
  return guarded(create, (muxer) => guardYamuxMuxer(muxer as YamuxInternals, modules))
}

/** As `guardYamux`, for mplex. mplex has no flow control, so where yamux refuses a stream, the connection is closed. */
export function guardMplex<Components>(create: Create<Components>, modules: MuxerGuardModules): Create<Components> {
  return guarded(create, (muxer) => guardMplexMuxer(muxer as MplexInternals, modules))
}

type Create<Components> = (components: Components) => StreamMuxerFactory

function guarded<Components>(create: Create<Components>, guard: (muxer: StreamMuxer) => void): Create<Components> {
  return (components) => {
    const factory = create(components)
    const createStreamMuxer = factory.createStreamMuxer.bind(factory)
    factory.createStreamMuxer = (connection) => {
      connection.maxWriteBufferLength ??= MAX_UNSENT_BYTES
      const muxer = createStreamMuxer(connection)
      guard(muxer)
      return muxer
    }
    return factory
  }
}

/** Runs `afterPacket` after the library has read each packet, and reports errors that end the connection. */
function watchPackets(
  muxer: StreamMuxer & { onData(data: unknown): void },
  onAbuse: MuxerGuardModules['onAbuse'],
  afterPacket: () => void,
): void {
  const onData = muxer.onData.bind(muxer)
  muxer.onData = (data) => {
    try {
      onData(data)
      afterPacket()
    } catch (error) {
      if (error instanceof MuxerAbuseError || (error instanceof Error && LIBRARY_ABUSE_ERRORS.has(error.name))) {
        onAbuse(muxer, error)
      }
      throw error
    }
  }
}

function guardYamuxMuxer(muxer: YamuxInternals, { clock, onAbuse }: MuxerGuardModules): void {
  const streams = new TokenBucket(clock, STREAM_RATE)
  const pings = new TokenBucket(clock, PING_RATE)
  const tinyFrames = new TokenBucket(clock, TINY_FRAME_RATE)

  const handleFrame = muxer.handleFrame.bind(muxer)
  muxer.handleFrame = (frame) => {
    const { type, length } = frame.header
    const isTiny = type !== DATA_FRAME || length < TINY_FRAME_BYTES
    if (isTiny && tinyFrames.take() > 0) throw new MuxerAbuseError('yamux: too many tiny frames')
    handleFrame(frame)
  }
  const { buffer } = muxer.decoder
  watchPackets(
    muxer,
    onAbuse,
    createChunkJoiner(buffer, () => checkLength(muxer, buffer.subarray(0, HEADER_BYTES))),
  )
  const incomingStream = muxer.incomingStream.bind(muxer)
  muxer.incomingStream = (id) => {
    if (streams.take() > 0) throw new MuxerAbuseError('yamux: too many streams opened')
    incomingStream(id)
  }
  const handlePing = muxer.handlePing.bind(muxer)
  muxer.handlePing = (header) => {
    if (pings.take() > 0) throw new MuxerAbuseError('yamux: too many pings')
    // A late answer. The library would close the connection of a peer that was only slow.
    if (header.flag === PING_ANSWER && muxer.activePing?.id !== header.length) return
    handlePing(header)
  }
  const handleGoAway = muxer.handleGoAway.bind(muxer)
  muxer.handleGoAway = (reason) => {
    handleGoAway(reason)
    // The library drops the streams but keeps a connection that looks open and carries nothing.
    const { maConn } = muxer
    maConn.close({ signal: AbortSignal.timeout(GOODBYE_MS) }).catch((error: Error) => maConn.abort(error))
  }
}

function guardMplexMuxer(muxer: MplexInternals, { clock, onAbuse }: MuxerGuardModules): void {
  const streams = new TokenBucket(clock, STREAM_RATE)
  const tinyFrames = new TokenBucket(clock, TINY_FRAME_RATE)

  const handleMessage = muxer.handleMessage.bind(muxer)
  muxer.handleMessage = (message) => {
    if ((message.data?.byteLength ?? 0) < TINY_FRAME_BYTES && tinyFrames.take() > 0) {
      throw new MuxerAbuseError('mplex: too many tiny frames')
    }
    if (message.type === NEW_STREAM) {
      const open = muxer.streams.filter(({ direction }) => direction === 'inbound').length
      if (open >= MAX_INBOUND_STREAMS || streams.take() > 0) throw new MuxerAbuseError('mplex: too many streams opened')
    }
    handleMessage(message)
    // The library drops the streams but keeps reading. An honest peer does not know yet which streams are closed.
    if (muxer.status !== 'open') throw new Error('mplex: too many frames of closed streams')
  }
  watchPackets(muxer, onAbuse, createChunkJoiner(muxer.decoder._buffer))
}

/**
 * Runs after each packet, on the incomplete frame in the buffer. Calls `checkHeader` once for its header, which throws
 * MuxerAbuseError when the frame will be too large. Joins chunks when there are too many.
 */
function createChunkJoiner(buffer: ChunkList, checkHeader: () => void = () => {}): () => void {
  let heldBytes = 0
  let compactBytes = 0
  let chunks = 0
  return () => {
    const bytes = buffer.byteLength
    if (bytes < heldBytes || bytes < HEADER_BYTES) {
      compactBytes = 0
      chunks = 0
    }
    heldBytes = bytes
    if (bytes < HEADER_BYTES) return
    if (chunks === 0) checkHeader()
    chunks += 1
    const isWorthIt = chunks >= MAX_CHUNKS && bytes >= 2 * compactBytes
    if (!isWorthIt && chunks < MAX_CHUNKS_OF_LARGE) return
    const whole = buffer.subarray()
    buffer.consume(bytes)
    buffer.append(whole)
    compactBytes = bytes
    chunks = 1
  }
}

function checkLength(muxer: YamuxInternals, header: Uint8Array): void {
  const view = new DataView(header.buffer, header.byteOffset, HEADER_BYTES)
  if (view.getUint8(1) !== DATA_FRAME) return
  const streamId = view.getUint32(4)
  const length = view.getUint32(8)
  const stream = muxer.streams.find((open) => open.streamId === streamId)
  const allowed = stream?.recvWindowCapacity ?? MAX_FRAME_BYTES
  if (length > allowed) throw new MuxerAbuseError(`yamux: a frame of ${length} bytes, at most ${allowed} allowed`)
}
