import { concatBytes } from '../../lib/bytes.ts'
import type { PayloadEnvelope, RollupConfig } from '../../rollup/protocol/types.ts'
import { unpackBlock } from '../inspection/unpackBlock.ts'
import { openResponse, responseParts } from '../sync/payloadByNumber.ts'

/** Decodes an answer of any size at once, without verifying its hash. Throws DecodeError. */
export function decodeResponse(
  bytes: Uint8Array,
  config: RollupConfig,
  expectedTime: number,
): { code: number; envelope?: PayloadEnvelope } {
  const response = openResponse(bytes, config, expectedTime)
  if (!('block' in response)) return response
  return { code: response.code, envelope: unpackBlock(response.block).envelope }
}

export function encodeResponse(envelope: PayloadEnvelope, config: RollupConfig): Uint8Array {
  return concatBytes(...responseParts(envelope, config))
}
