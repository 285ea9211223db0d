import { isObject } from './jsonReader.ts'
import { nearMiss } from './nearest.ts'

/** The members that an object may have, with those of the objects among them. */
export interface KnownMembers {
  readonly [name: string]: true | KnownMembers
}

export interface UnknownMember {
  /** `genesis.l2_tmie`: its path. */
  member: string
  /** Path of the known one that was probably meant. */
  nearest: string | undefined
}

/** More than these tell no more. */
const MAX_FOUND = 20

/** Members of parsed JSON that nobody reads, for a warning: they may be misspelt. Null counts as absent. */
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
  return `Nobody knows the member ${member}: ${effect}${nearest === undefined ? '' : `. Did you mean ${nearest}?`}`
}
