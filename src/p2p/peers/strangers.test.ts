import { describe, expect, it } from 'vitest'
import { createStrangers } from './strangers.ts'

function setUp(known: readonly string[] = [], undialable: readonly string[] = []) {
  const forgotten: string[] = []
  const strangers = createStrangers(
    {
      isStranger: (peer) => !known.includes(peer),
      isDialable: async (peer) => !undialable.includes(peer),
      async forget(peer) {
        forgotten.push(peer)
      },
      onError(error) {
        throw error
      },
    },
    { most: 2 },
  )
  return { strangers, forgotten }
}

describe('peers that came by', () => {
  it('strangers are forgotten, longest gone first, when there are too many', () => {
    const { strangers, forgotten } = setUp()
    for (const peer of ['a', 'b', 'a', 'c', 'd']) strangers.onGone(peer)
    expect(forgotten).toEqual(['b', 'a'])
  })

  it('strangers are kept while they are connected', () => {
    const { strangers, forgotten } = setUp()
    strangers.onGone('a')
    strangers.onConnected('a')
    for (const peer of ['b', 'c', 'd']) strangers.onGone(peer)
    expect(forgotten).toEqual(['b'])
  })

  it('strangers are forgotten at once when there is no address to dial them at, unless they are back', async () => {
    const { strangers, forgotten } = setUp([], ['a', 'b'])
    strangers.onGone('a')
    strangers.onGone('b')
    strangers.onConnected('b')
    strangers.onGone('c')
    await new Promise((resolve) => setImmediate(resolve))
    expect(forgotten).toEqual(['a'])
  })

  it('peers are no strangers when somebody named them', () => {
    const { strangers, forgotten } = setUp(['a'])
    for (const peer of ['a', 'b', 'c']) strangers.onGone(peer)
    expect(forgotten).toEqual([])
  })
})
