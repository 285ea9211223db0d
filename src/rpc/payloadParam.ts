import { DecodeError } from '../lib/errors.ts'
import { normalizeHex } from '../lib/hex.ts'
import type { JsonValue } from '../lib/jsonRpc/types.ts'
import { payloadFromJson } from '../rollup/protocol/index.ts'
import type { PayloadEnvelope } from '../rollup/protocol/types.ts'

/** `{parentBeaconBlockRoot?, executionPayload}` as op-node's admin_postUnsafePayload takes it. Throws DecodeError. */
export function payloadEnvelopeFromJson(value: JsonValue): PayloadEnvelope {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new DecodeError('payload should be an object with executionPayload')
  const { parentBeaconBlockRoot: root, executionPayload } = value
  const payload = payloadFromJson(executionPayload ?? null)
  if (root === undefined || root === null) return { payload }
  return { parentBeaconBlockRoot: normalizeHex(root, 32, 'parentBeaconBlockRoot'), payload }
}
