import { DecodeError } from '../../../lib/errors.ts'
import { BLOB_BYTES, bareFramesOf, decodeBatch, type Frame, framesOf } from '../../../rollup/protocol/index.ts'
import type { RollupConfig } from '../../../rollup/protocol/types.ts'
import { CONFIG_OF_NO_CHAIN, withSpanType } from './batches.ts'
import { readChannel } from './channelContent.ts'
import { readL1Transaction } from './l1Transaction.ts'

/** Kinds of input, from the outermost container of a batch to the batch. */
export const KINDS = ['transaction', 'data', 'blob', 'frame', 'channel', 'batch'] as const
export type Kind = (typeof KINDS)[number]

export const KIND_HELP: Readonly<Record<Kind, string>> = {
  transaction: 'a signed L1 transaction; type 3 with or without its blobs',
  data: 'calldata of a batcher transaction or data of a blob: a version byte and frames',
  blob: `a blob of ${BLOB_BYTES} bytes`,
  frame: 'one or more frames, without the version byte',
  channel: 'the data of a complete channel: compressed batches',
  batch: 'one batch, with or without its type byte',
}

/** How many bytes can be read as a kind: all, or those before a fault. */
interface Attempt {
  kind: Kind
  progress: number
}

const WHOLE = Number.POSITIVE_INFINITY

/** The most likely kind of the bytes. Undefined when no kind can read beyond the first byte. */
export async function detectKind(bytes: Uint8Array, config: RollupConfig | undefined): Promise<Kind | undefined> {
  if (bytes.length === BLOB_BYTES) return 'blob'
  const attempts: Attempt[] = [
    { kind: 'transaction', progress: progressOf(() => void readL1Transaction(bytes)) },
    { kind: 'data', progress: progressOfFrames(framesOf(bytes), 1) },
    { kind: 'frame', progress: progressOfFrames(bareFramesOf(bytes), 0) },
    await attemptChannel(bytes, config),
    { kind: 'batch', progress: progressOfBatch(bytes) },
  ]
  let best: Attempt = { kind: 'data', progress: 0 }
  for (const attempt of attempts) if (attempt.progress > best.progress) best = attempt
  return best.progress === 0 ? undefined : best.kind
}

async function attemptChannel(bytes: Uint8Array, config: RollupConfig | undefined): Promise<Attempt> {
  const { compression, batches, fault } = await readChannel(bytes, config)
  // Brotli accepts many bytes as the beginning of a stream, so a batch must follow. zlib's header has a checksum.
  if (compression === null || (compression === 'brotli' && batches.length === 0))
    return { kind: 'channel', progress: 0 }
  if (batches.length > 0) return { kind: 'channel', progress: fault === null ? WHOLE : bytes.length }
  const header = ((bytes[0] ?? 0) << 8) | (bytes[1] ?? 0)
  return { kind: 'channel', progress: header % 31 === 0 ? 2 : 0 }
}

function progressOfBatch(bytes: Uint8Array): number {
  const read = (batch: Uint8Array) => progressOf(() => void decodeBatch(batch, CONFIG_OF_NO_CHAIN))
  const typed = read(bytes)
  // A span batch without its type byte begins with a time that begins no other kind.
  return typed < WHOLE && bytes.length > 42 && read(withSpanType(bytes)) === WHOLE ? WHOLE : typed
}

/** A frame header alone proves nothing, so only the bytes before it count. One frame that fits does count. */
function progressOfFrames(frames: Iterable<Frame>, before: number): number {
  let found = 0
  const progress = progressOf(() => {
    for (const _ of frames) found++
  })
  return found === 0 ? Math.min(progress, before) : progress
}

function progressOf(read: () => void): number {
  try {
    read()
    return WHOLE
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    return error.at ?? 0
  }
}
