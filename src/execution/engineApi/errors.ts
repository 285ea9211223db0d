import { JsonRpcError } from '../../jsonRpc/types.ts'

/** Codes and titles of the Engine API (execution-apis, `engine/common.md`). */
const ENGINE_ERRORS = {
  unknownPayload: [-38001, 'Unknown payload'],
  invalidForkchoiceState: [-38002, 'Invalid forkchoice state'],
  invalidPayloadAttributes: [-38003, 'Invalid payload attributes'],
  tooLargeRequest: [-38004, 'Too large request'],
  unsupportedFork: [-38005, 'Unsupported fork'],
  invalidParams: [-32602, 'Invalid parameters'],
} as const

/** `data.err` has the detail, as in geth. The message repeats it for clients that log only the message. */
export function engineError(kind: keyof typeof ENGINE_ERRORS, detail?: string): JsonRpcError {
  const [code, title] = ENGINE_ERRORS[kind]
  if (detail === undefined) return new JsonRpcError(code, title)
  return new JsonRpcError(code, `${title}: ${detail}`, { data: { err: detail } })
}
