import type { Stream, StreamCloseEvent, StreamMessageEvent } from '@libp2p/interface'
import { createFrameAssembler, FrameError } from '../base/frameAssembler.ts'
import type { StreamListening } from '../base/streams.ts'

/** The stream members that reading frames needs. */
export type FrameStream = StreamListening & Pick<Stream, 'abort' | 'close'>

export interface FrameLimits {
  maxFrameBytes: number
  /** Limit of unread bytes: whole frames and a part of one. */
  maxBacklogBytes: number
  /** Time limit from the first byte of a frame to its last. */
  frameTimeoutMs: number
}

/** The frames of one stream may use this many milliseconds in one iteration of the event loop. */
const TURN_MS = 4
const CHECK_CLOCK_EVERY = 16

/**
 * Reads length-prefixed frames from the stream's events, a limited time in each iteration of the event loop. A fault resets
 * the stream.
 */
export function readFrames(
  modules: {
    stream: FrameStream
    onFrame(frame: Uint8Array): void
    onFault(fault: FrameError): void
    /** The stream has ended, on either side. */
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

  const end = (error: Error | undefined): void => {
    if (isOver) return
    isOver = true
    stop()
    modules.onEnd(error)
  }
  const fail = (fault: FrameError): void => {
    if (isOver) return
    modules.onFault(fault)
    end(fault)
    stream.abort(fault)
  }
  /** Delivers whole frames until this iteration's time is used up. */
  const work = (): void => {
    const startedMs = now()
    let count = 0
    try {
      for (let frame = frames.next(); frame !== undefined; frame = frames.next()) {
        modules.onFrame(frame)
        count += 1
        if (isOver) return
        if (count % CHECK_CLOCK_EVERY !== 0 || now() - startedMs <= TURN_MS) continue
        later()
        break
      }
    } catch (error) {
      if (!(error instanceof FrameError)) throw error
      fail(error)
      return
    }
    if (hasEnded && !isWaiting) end(undefined)
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
      () => fail(new FrameError('slow-frame', `a frame was incomplete after ${frameTimeoutMs} ms`)),
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
  /** The remote side sends nothing more, so close our end too. */
  const onEnd = (): void => {
    stream.close().catch((error: Error) => stream.abort(error))
    finish()
  }
  const onClose = ({ error }: StreamCloseEvent): void => {
    if (error === undefined) finish()
    else end(error)
  }
  const finish = (): void => {
    hasEnded = true
    if (!isWaiting) end(undefined)
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
