import type { Hex } from '../../../lib/hex.ts'
import type { Word } from './word.ts'

/** Names kept at one time; a power of two. */
const KEPT_NAMES = 1_024

/**
 * How the state names words: programs use few of them, over and over. Each word has one place, by its lowest bits, and
 * drives out whatever stood there, so that no choice of words makes a look-up take more than one comparison and one name. A
 * Map would not do: V8 hashes a bigint by its lowest 64 bits and numbers without a seed, so that whoever writes a program
 * could have all its words in one bucket. Strings are hashed with a seed: maps have names for keys, never words.
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
