import { DecodeError } from '../../lib/errors.ts'
import { encodePayloadParts, payloadVersionAt } from '../../rollup/protocol/index.ts'
import type { PayloadEnvelope, RollupConfig } from '../../rollup/protocol/types.ts'
import { PIECE_BYTES, snappyFramePieces } from '../base/snappyFrames.ts'
import type { PayloadVersion } from '../base/topics.ts'
import type { FramedBlock } from '../inspection/unpackBlock.ts'

/** First byte of an answer (specs: rollup-node-p2p, "payload_by_number"). */
export const RESULT = { ok: 0, notFound: 1, invalidRequest: 2, unknownError: 3 } as const
export type ResultCode = (typeof RESULT)[keyof typeof RESULT]

export const REQUEST_BYTES = 8
/** Nobody asks longer than this (op-node: stream 5 s, read and write 10 s each). */
export const OPEN_TIMEOUT_MS = 5_000
export const TRANSFER_TIMEOUT_MS = 10_000

/** op-node's spelling, then the specs' and kona's. */
export function payloadByNumberProtocols(chainId: bigint): [string, string] {
  const base = `/opstack/req/payload_by_number/${chainId}/0`
  return [base, `${base}/`]
}

/** Chain ids up to 64 bits, as in discovery; more is nobody's chain. */
const PROTOCOL = /^\/opstack\/req\/payload_by_number\/(\d{1,20})\/0\/?$/

/** Those of any chain among a peer's protocols, in the order given. */
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
 * code ‖ version (u32 LE) ‖ snappy-framed body, in pieces. Version 0 is a bare payload, 1 an envelope (from Ecotone on, v4
 * included). Throws as encodePayloadEnvelope.
 */
export function responsePieces(envelope: PayloadEnvelope, config: RollupConfig): Iterable<Uint8Array> {
  const container = payloadVersionAt(config, envelope.payload.timestamp)
  const head = Uint8Array.of(RESULT.ok, container >= 3 ? 1 : 0, 0, 0, 0)
  return piecesOf(head, encodePayloadParts(envelope, container, PIECE_BYTES))
}

function* piecesOf(head: Uint8Array, parts: Iterable<Uint8Array>): Generator<Uint8Array> {
  yield head
  yield* snappyFramePieces(parts)
}

export type Response = { code: typeof RESULT.ok; block: FramedBlock } | { code: number }

/**
 * Looks at an answer's head. `expectedTime` is that of the block asked for: it chooses the container. Throws
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

/** The specs number Isthmus 2, op-node keeps 1 and picks the container by time. */
function versionFits(version: number, container: PayloadVersion): boolean {
  if (container <= 2) return version === 0
  return version === 1 || (version === 2 && container === 4)
}
