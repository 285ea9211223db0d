import type { JsonValue } from '../../../jsonRpc/types.ts'
import { toQuantity } from '../../../lib/hex.ts'

export type JsonRecord = { [key: string]: JsonValue }

/** The members with numbers as quantities, and without undefined ones. */
export function withQuantities(members: Record<string, JsonValue | bigint | undefined>): JsonRecord {
  const json: JsonRecord = {}
  for (const [name, value] of Object.entries(members)) {
    if (value === undefined) continue
    json[name] = typeof value === 'bigint' || typeof value === 'number' ? toQuantity(value) : value
  }
  return json
}
