import { serialize, WrittenJson } from '../jsonRpc/bodyChunks.ts'
import type { Written } from './results.ts'

/**
 * Writes values whose members are never changed, only replaced: while they are the same as at the last call, so is the text.
 * For what is asked for all the time and rarely new.
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
