import { serialize, WrittenJson } from '../jsonRpc/bodyChunks.ts'
import type { Written } from './results.ts'

/**
 * Caches the JSON text of a value for frequent requests of rarely changed values. The text is reused as long as all
 * members are identical to the last call's, so members must be replaced, never modified.
 */
export function writeOnce<T extends object, J extends object>(toJson: (value: T) => J): (value: T) => Written<J> {
  let last: { value: T; text: Written<J> } | undefined
  return (value) => {
    if (last === undefined || !hasSameMembers(last.value, value)) {
      last = { value: { ...value }, text: new WrittenJson([serialize(toJson(value))]) }
    }
    return last.text
  }
}

function hasSameMembers<T extends object>(one: T, other: T): boolean {
  for (const name in one) if (one[name] !== other[name]) return false
  for (const name in other) if (!(name in one)) return false
  return true
}
