import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { HexNames } from './hexNames.ts'
import { toWord, type Word, wordToAddress, wordToSlot } from './word.ts'

describe('HexNames', () => {
  it('returns the right name of each of several words with the same cache slot', () => {
    const slots = new HexNames(wordToSlot)
    const alike = [0n, 1n << 64n, 2n << 64n, 1n << 255n, 2n ** 32n].map(toWord)
    for (let round = 0; round < 3; round++) {
      for (const word of alike) expect(slots.of(word)).toBe(wordToSlot(word))
    }
  })

  it('caches a name until another word takes its cache slot', () => {
    const named: Word[] = []
    const addresses = new HexNames((word) => {
      named.push(word)
      return wordToAddress(word)
    })
    const [first, junk] = [5, 5n | (1n << 160n)] as const
    expect([addresses.of(first), addresses.of(first)]).toEqual([wordToAddress(5), wordToAddress(5)])
    expect(named).toEqual([first])
    // The same address for the chain.
    expect(addresses.of(junk)).toBe(wordToAddress(5))
    addresses.of(first)
    expect(named).toEqual([first, junk, first])
  })
})

// Only time would show the attack elsewhere: 230,000 words that differ above bit 64 take minutes in one bucket of a
// Map.
it.each(['.', '../../tracing'])('no Map or Set in %s has words as keys', (folder) => {
  const directory = new URL(`${folder}/`, import.meta.url)
  const files = readdirSync(fileURLToPath(directory)).filter((name) => /(?<!\.test)\.ts$/.test(name))
  expect(files.length).toBeGreaterThan(3)
  const keyed = files.filter((name) =>
    /\b(Map|Set)<(Word|bigint|number)\b/.test(readFileSync(new URL(name, directory), 'utf8')),
  )
  expect(keyed).toEqual([])
})
