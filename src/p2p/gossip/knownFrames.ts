import { isLarge } from './largeMessages.ts'

export interface KnownMessage {
  topic: string
  /** As gossipsub names it inside. */
  id: string
}

/**
 * In a mesh most frames are one more copy of the block that has just come. They are alike byte by byte, whoever sends
 * them, and are known again before anything is decoded.
 */
export interface KnownFrames {
  /** The frame holds one message with these bytes, and nothing else. */
  note(frame: Uint8Array, data: Uint8Array): void
  /** The message with these bytes is a valid block. */
  add(data: Uint8Array, message: KnownMessage): void
  find(frame: Uint8Array): KnownMessage | undefined
}

/** Blocks come one or two seconds apart, and copies of one within a few hundred milliseconds. */
const FRAMES_KEPT = 4

export function createKnownFrames(): KnownFrames {
  const frameOf = new WeakMap<Uint8Array, Uint8Array>()
  /** Newest first. */
  const known: (KnownMessage & { frame: Uint8Array })[] = []
  return {
    note(frame, data) {
      if (!isLarge(data)) frameOf.set(data, frame)
    },
    add(data, message) {
      const frame = frameOf.get(data)
      if (frame === undefined) return
      known.unshift({ ...message, frame })
      if (known.length > FRAMES_KEPT) known.pop()
    },
    find: (frame) =>
      known.find((entry) => entry.frame.length === frame.length && Buffer.compare(entry.frame, frame) === 0),
  }
}
