import { DecodeError } from '../../lib/errors.ts'
import { encodePayloadParts, payloadVersionAt } from '../../rollup/protocol/index.ts'
import type { PayloadEnvelope, RollupConfig } from '../../rollup/protocol/types.ts'
import { PART_BYTES, snappyFrameParts } from '../base/snappyFrames.ts'
import type { PayloadVersion } from '../base/topics.ts'
import type { FramedBlock } from '../inspection/unpackBlock.ts'

/** First byte of an answer (specs: rollup-node-p2p, "payload_by_number"). */
export const RESULT = { ok: 0, notFound: 1, invalidRequest: 2, unknownError: 3 } as const
export type ResultCode = (typeof RESULT)[keyof typeof RESULT]

export const REQUEST_BYTES = 8
/** op-node's time limits: 5 s to open the stream, 10 s each to read and write. */
export const OPEN_TIMEOUT_MS = 5_000
export const TRANSFER_TIMEOUT_MS = 10_000

/** op-node's spelling, then the spelling of the specs and kona. */
export function payloadByNumberProtocols(chainId: bigint): [string, string] {
  const base = `/opstack/req/payload_by_number/${chainId}/0`
  return [base, `${base}/`]
}

/** Chain ids up to 64 bits, as in discovery. No real chain has a larger one. */
const PROTOCOL = /^\/opstack\/req\/payload_by_number\/(\d{1,20})\/0\/?$/

/** The request protocols of any chain in a peer's list, in the given order. */
export function blockProtocols(protocols: readonly string[]): { protocol: string; chainId: bigint }[] {
  return protocols.flatMap((protocol) => {
    const [, chain] = PROTOCOL.exec(protocol) ?? []
    return chain === undefined ? [] : [{ protocol, chainId: BigInt(chain) }]
  })
}

export function encodeRequest(number: number): Uint8Array {
  const out = Buffer.alloc(REQUEST_BYTES)
  out.writeBigUInt64LE(BigInt(number))
  return out
}

/** Throws DecodeError. */
export function decodeRequest(bytes: Uint8Array): number {
  if (bytes.length !== REQUEST_BYTES)
    throw new DecodeError(`request of ${bytes.length} bytes, expected ${REQUEST_BYTES}`)
  const number = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).readBigUInt64LE()
  if (number > BigInt(Number.MAX_SAFE_INTEGER)) throw new DecodeError(`block number ${number} is out of range`)
  return Number(number)
}

/**
 * Yields code ‖ version (u32 LE) ‖ snappy-framed body, in parts. Version 0: a bare payload; version 1: an envelope
 * (from Ecotone on, v4 included). Throws as encodePayloadEnvelope.
 */
export function responseParts(envelope: PayloadEnvelope, config: RollupConfig): Iterable<Uint8Array> {
  const container = payloadVersionAt(config, envelope.payload.timestamp)
  const head = Uint8Array.of(RESULT.ok, container >= 3 ? 1 : 0, 0, 0, 0)
  return partsOf(head, encodePayloadParts(envelope, container, PART_BYTES))
}

function* partsOf(head: Uint8Array, parts: Iterable<Uint8Array>): Generator<Uint8Array> {
  yield head
  yield* snappyFrameParts(parts)
}

export type Response = { code: typeof RESULT.ok; block: FramedBlock } | { code: number }

/**
 * Decodes an answer's header. `expectedTime`: the timestamp of the requested block, which selects the container. Throws
 * DecodeError.
 */
export function openResponse(bytes: Uint8Array, config: RollupConfig, expectedTime: number): Response {
  const code = bytes[0]
  if (code === undefined) throw new DecodeError('response is empty')
  if (code !== RESULT.ok) return { code }
  if (bytes.length < 5) throw new DecodeError('response ends inside its version')
  const version = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).readUInt32LE(1)
  const container = payloadVersionAt(config, expectedTime)
  if (!versionFits(version, container)) throw new DecodeError(`response version ${version} for a v${container} block`)
  return { code, block: { frames: bytes.subarray(5), version: container } }
}

/** The specs give Isthmus version 2. op-node keeps 1 and selects the container by time. */
function versionFits(version: number, container: PayloadVersion): boolean {
  if (container <= 2) return version === 0
  return version === 1 || (version === 2 && container === 4)
}
