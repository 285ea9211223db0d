import { DeviumError } from '../../lib/errors.ts'

/** What a member of a library's object must be. */
export type MemberKind = 'function' | 'number' | 'object' | 'map' | 'array'

/**
 * Checks private members of a library that an adapter relies on, so that a release that renames one fails at the start
 * and not in the middle of the network. A path goes through objects: `score.params.topics`. Throws a critical DeviumError
 * that names what is missing.
 */
export function checkMembers(
  instance: object,
  expected: Readonly<Partial<Record<MemberKind, readonly string[]>>>,
  { library, code }: { library: string; code: string },
): void {
  for (const [kind, paths] of Object.entries(expected)) {
    const missing = paths.find((path) => kindOf(memberAt(instance, path)) !== kind)
    if (missing === undefined) continue
    throw unknownInternals({ library, code }, missing)
  }
}

/** What an adapter throws that finds something else than it knows. */
export function unknownInternals({ library, code }: { library: string; code: string }, missing: string): DeviumError {
  return new DeviumError(code, `this release of ${library} has other internals than its adapter knows: ${missing}`, {
    severity: 'critical',
  })
}

function memberAt(instance: object, path: string): unknown {
  let member: unknown = instance
  for (const name of path.split('.')) {
    if (typeof member !== 'object' || member === null) return undefined
    member = Reflect.get(member, name)
  }
  return member
}

function kindOf(member: unknown): string {
  if (member instanceof Map) return 'map'
  if (Array.isArray(member)) return 'array'
  return member === null ? 'null' : typeof member
}
