import type { Stream, StreamCloseEvent, StreamMessageEvent } from '@libp2p/interface'
import { createFrameAssembler, FrameError } from '../base/frameAssembler.ts'
import type { StreamListening } from '../base/streams.ts'

/** What reading frames needs of a stream. */
export type FrameStream = StreamListening & Pick<Stream, 'abort' | 'close'>

export interface FrameLimits {
  maxFrameBytes: number
  /** Whole frames and parts of one that may wait for their turn. */
  maxBacklogBytes: number
  /** From the first byte of a frame to its last. */
  frameTimeoutMs: number
}

/** Milliseconds of one turn of the event loop that the frames of one stream may take. */
const TURN_MS = 4
/** Frames between two looks at the clock. */
const LOOK_EVERY = 16

/**
 * Reads length-prefixed frames by the stream's events, some of them in each turn of the event loop. A fault ends it:
 * the stream is reset.
 */
export function readFrames(
  modules: {
    stream: FrameStream
    onFrame(frame: Uint8Array): void
    onFault(fault: FrameError): void
    /** The stream is over, whoever ended it. */
    onEnd(error: Error | undefined): void
    setTimeout(callback: () => void, delayMs: number): () => void
    now?: () => number
  },
  limits: FrameLimits,
): void {
  const { stream } = modules
  const now = modules.now ?? (() => performance.now())
  const frames = createFrameAssembler(limits)
  let cancelTimeout: (() => void) | undefined
  let isWaiting = false
  let hasEnded = false
  let isOver = false

  const settle = (error: Error | undefined): void => {
    if (isOver) return
    isOver = true
    stop()
    modules.onEnd(error)
  }
  const fail = (fault: FrameError): void => {
    if (isOver) return
    modules.onFault(fault)
    settle(fault)
    stream.abort(fault)
  }
  /** Hands out what is whole, until this turn's time is used up. */
  const work = (): void => {
    const startedMs = now()
    let count = 0
    try {
      for (let frame = frames.next(); frame !== undefined; frame = frames.next()) {
        modules.onFrame(frame)
        count += 1
        if (isOver) return
        if (count % LOOK_EVERY !== 0 || now() - startedMs <= TURN_MS) continue
        later()
        break
      }
    } catch (error) {
      if (!(error instanceof FrameError)) throw error
      fail(error)
      return
    }
    if (hasEnded && !isWaiting) settle(undefined)
    else watchPartial(count > 0)
  }
  const watchPartial = (hasProgress: boolean): void => {
    if (hasProgress || isWaiting || !frames.isPartial()) {
      cancelTimeout?.()
      cancelTimeout = undefined
    }
    if (isWaiting || !frames.isPartial()) return
    const { frameTimeoutMs } = limits
    cancelTimeout ??= modules.setTimeout(
      () => fail(new FrameError('slow-frame', `a frame was not finished in ${frameTimeoutMs} ms`)),
      frameTimeoutMs,
    )
  }
  const later = (): void => {
    isWaiting = true
    setImmediate(() => {
      isWaiting = false
      if (!isOver) work()
    })
  }
  const onMessage = ({ data }: StreamMessageEvent): void => {
    try {
      frames.push(data)
    } catch (error) {
      if (!(error instanceof FrameError)) throw error
      fail(error)
      return
    }
    if (!isWaiting) work()
  }
  /** Nothing more will come: our end of it is of no use either. */
  const onEnd = (): void => {
    stream.close().catch((error: Error) => stream.abort(error))
    finish()
  }
  const onClose = ({ error }: StreamCloseEvent): void => {
    if (error === undefined) finish()
    else settle(error)
  }
  const finish = (): void => {
    hasEnded = true
    if (!isWaiting) settle(undefined)
  }
  const stop = (): void => {
    cancelTimeout?.()
    frames.clear()
    stream.removeEventListener('message', onMessage)
    stream.removeEventListener('end', onEnd)
    stream.removeEventListener('close', onClose)
  }
  stream.addEventListener('end', onEnd)
  stream.addEventListener('close', onClose)
  stream.addEventListener('message', onMessage)
}
