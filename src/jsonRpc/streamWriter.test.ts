import { describe, expect, it } from 'vitest'
import { nextTurn } from '../lib/nextTurn.ts'
import { createStreamWriter } from './streamWriter.ts'

const LONG = 'x'.repeat(300_000)
const { signal } = new AbortController()

/** Streams that report their start and wait for permission to continue. */
function setUp() {
  const write = createStreamWriter()
  const begun: string[] = []
  const stream = (name: string, goOn: Promise<void>) => {
    async function* chunks() {
      begun.push(name)
      yield LONG
      await goOn
    }
    return { before: '[', chunks: chunks(), after: ']' }
  }
  return { write, begun, stream }
}

describe('long answers', () => {
  it('sixteen are sent at once, and the next starts when one ends', async () => {
    const { write, begun, stream } = setUp()
    const gate = Promise.withResolvers<void>()
    const send = async () => {}
    const first = Array.from({ length: 16 }, (_, index) => write(stream(`${index}`, gate.promise), signal, send))
    const next = write(stream('next', gate.promise), signal, send)
    await nextTurn()
    expect(begun).toHaveLength(16)
    gate.resolve()
    await Promise.all([...first, next])
    expect(begun.at(-1)).toBe('next')
  })

  it('one at a time is collected as a whole', async () => {
    const { write, begun, stream } = setUp()
    const gate = Promise.withResolvers<void>()
    const first = write(stream('first', gate.promise), signal, undefined)
    const second = write(stream('second', gate.promise), signal, undefined)
    await nextTurn()
    expect(begun).toEqual(['first'])
    gate.resolve()
    for (const answer of [await first, await second]) expect(answer.map(String).join('')).toBe(`[${LONG}]`)
  })

  it('an answer is not started if its client has disconnected', async () => {
    const { write, begun, stream } = setUp()
    const [gate, client] = [Promise.withResolvers<void>(), new AbortController()]
    const first = write(stream('first', gate.promise), signal, undefined)
    const second = write(stream('second', gate.promise), client.signal, undefined)
    client.abort(new Error('gone'))
    gate.resolve()
    await expect(second).rejects.toThrow('gone')
    await first
    expect(begun).toEqual(['first'])
  })
})
