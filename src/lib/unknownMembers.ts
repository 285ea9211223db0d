import { isObject } from './jsonReader.ts'
import { nearMiss } from './nearest.ts'

/** The members that an object may have. Nested objects list their own members. */
export interface KnownMembers {
  readonly [name: string]: true | KnownMembers
}

export interface UnknownMember {
  /** The path, such as `genesis.l2_tmie`. */
  member: string
  /** Path of the known member that was probably meant. */
  nearest: string | undefined
}

/** A longer list would not help the reader. */
const MAX_FOUND = 20

/** Finds members of parsed JSON that no code reads, for a warning: they may be misspelt. Null counts as absent. */
export function unknownMembers(json: unknown, known: KnownMembers, path = ''): UnknownMember[] {
  if (!isObject(json)) return []
  const names = Object.keys(known)
  const found = Object.entries(json).flatMap(([name, value]): UnknownMember[] => {
    if (value === null) return []
    const inner = Object.hasOwn(known, name) ? known[name] : undefined
    if (inner === true) return []
    if (inner !== undefined) return unknownMembers(value, inner, `${path}${name}.`)
    const nearest = nearMiss(name, names)
    return [{ member: path + name, nearest: nearest === undefined ? undefined : path + nearest }]
  })
  return found.slice(0, MAX_FOUND)
}

export function describeUnknown({ member, nearest }: UnknownMember, effect = 'it is ignored'): string {
  return `Unknown member ${member}: ${effect}${nearest === undefined ? '' : `. Did you mean ${nearest}?`}`
}
