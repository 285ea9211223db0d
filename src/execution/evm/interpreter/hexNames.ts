import type { Hex } from '../../../lib/hex.ts'
import { type Word, wordToAddress, wordToSlot } from './word.ts'

/** Size of the cache, a power of two. */
const KEPT_NAMES = 1_024

/**
 * Caches the hex names of words: programs use few words, repeatedly. Each word has one place, by its lowest bits, and
 * replaces the word that was there. So no choice of words makes a lookup slower than one comparison and one conversion.
 * A Map would be attackable. V8 hashes numbers without a seed, and a bigint by its lowest 64 bits. A program could put
 * all its words into one bucket. Strings are hashed with a seed, so maps use names as keys, never words.
 */
export class HexNames {
  private readonly nameOf: (word: Word) => Hex
  private readonly words = new Array<Word>(KEPT_NAMES).fill(0)
  private readonly names = new Array<Hex | undefined>(KEPT_NAMES).fill(undefined)

  constructor(nameOf: (word: Word) => Hex) {
    this.nameOf = nameOf
  }

  of(word: Word): Hex {
    const place = (typeof word === 'number' ? word : Number(BigInt.asUintN(32, word))) & (KEPT_NAMES - 1)
    const known = this.names[place]
    if (known !== undefined && this.words[place] === word) return known
    const name = this.nameOf(word)
    this.words[place] = word
    this.names[place] = name
    return name
  }
}

export const addressNames = new HexNames(wordToAddress)
export const slotNames = new HexNames(wordToSlot)
