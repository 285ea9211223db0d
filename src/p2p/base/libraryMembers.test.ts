import { describe, expect, it } from 'vitest'
import { checkMembers, type MemberKind } from './libraryMembers.ts'

const LIBRARY = { library: 'ourlib', code: 'ourlib-library' }
const instance = { mesh: new Map(), score: { params: { topics: {} }, add: () => 1 }, ticks: 3, history: [], gone: null }

function check(expected: Partial<Record<MemberKind, string[]>>): () => void {
  return () => checkMembers(instance, expected, LIBRARY)
}

describe('the private members of a library', () => {
  it('pass as what they are', () => {
    expect(
      check({
        map: ['mesh'],
        object: ['score.params.topics'],
        function: ['score.add'],
        number: ['ticks'],
        array: ['history'],
      }),
    ).not.toThrow()
  })

  it.each<[MemberKind, string]>([
    ['function', 'score.addPeer'],
    ['map', 'score.params.topics'],
    ['object', 'mesh'],
    ['object', 'gone'],
    ['object', 'gone.deeper'],
    ['number', 'history'],
    ['array', 'ticks'],
  ])('name the %s that is missing: %s', (kind, path) => {
    expect(check({ [kind]: [path] })).toThrow(
      `this release of ourlib has other internals than its adapter knows: ${path}`,
    )
  })

  it('are a critical error with the code of the adapter', () => {
    expect(check({ map: ['peers'] })).toThrow(expect.objectContaining({ code: 'ourlib-library', severity: 'critical' }))
  })
})
