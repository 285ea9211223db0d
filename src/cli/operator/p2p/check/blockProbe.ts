import type { Connection } from '@libp2p/interface'
import { DecodeError } from '../../../../lib/errors.ts'
import { decodeSnappyFrames } from '../../../../p2p/base/snappyFrames.ts'
import { readAll, writeAll } from '../../../../p2p/base/streams.ts'
import type { PayloadVersion } from '../../../../p2p/base/topics.ts'
import { MAX_RESPONSE_BYTES } from '../../../../p2p/inspection/unpackBlock.ts'
import { encodeRequest, RESULT } from '../../../../p2p/sync/payloadByNumber.ts'
import { decodePayloadEnvelope, payloadBlockHash } from '../../../../rollup/protocol/index.ts'
import type { PayloadEnvelope } from '../../../../rollup/protocol/types.ts'

export type BlockAnswer =
  | { kind: 'block'; hash: string; bytes: number }
  /** `RESULT` of payload_by_number, except `ok`. */
  | { kind: 'refusal'; code: number }

/** Requests one block. Rejects when the stream fails, or with DecodeError when the answer is not that block. */
export async function requestBlock(
  connection: Connection,
  question: { protocol: string; number: number },
  timeoutMs: number,
): Promise<BlockAnswer> {
  const signal = AbortSignal.timeout(timeoutMs)
  const stream = await connection.newStream([question.protocol], { signal })
  try {
    const reading = readAll(stream, MAX_RESPONSE_BYTES, signal)
    // The read below reports its failure.
    reading.catch(() => {})
    await writeAll(stream, encodeRequest(question.number), signal)
    return decodeAnswer(await reading, question.number)
  } finally {
    stream.abort(new Error('asked'))
  }
}

/**
 * Tries each container, because the chain's forks are unknown here: the block hash matches only one container. Throws
 * DecodeError.
 */
export function decodeAnswer(bytes: Uint8Array, number: number): BlockAnswer {
  const code = bytes[0]
  if (code === undefined) throw new DecodeError('the answer is empty')
  if (code !== RESULT.ok) return { kind: 'refusal', code }
  if (bytes.length < 5) throw new DecodeError('the answer ends within its version field')
  const version = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).readUInt32LE(1)
  const body = decodeSnappyFrames(bytes.subarray(5), MAX_RESPONSE_BYTES)
  const containers: PayloadVersion[] = version === 0 ? [2, 1] : [4, 3]
  for (const container of containers) {
    const envelope = decodeAs(body, container)
    if (envelope === undefined) continue
    const { blockNumber, blockHash } = envelope.payload
    if (blockNumber !== number) throw new DecodeError(`it sent block ${blockNumber} instead of ${number}`)
    return { kind: 'block', hash: blockHash, bytes: bytes.length }
  }
  throw new DecodeError('its answer is not a block with the correct hash')
}

function decodeAs(body: Uint8Array, container: PayloadVersion): PayloadEnvelope | undefined {
  try {
    const envelope = decodePayloadEnvelope(body, container)
    return payloadBlockHash(envelope) === envelope.payload.blockHash ? envelope : undefined
  } catch (error) {
    if (error instanceof DecodeError) return undefined
    throw error
  }
}
