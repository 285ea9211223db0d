import type { Hex } from '../../../lib/hex.ts'
import type { WorldState } from '../../state/worldState.ts'
import type { OpcodeTable } from './gas.ts'
import type { Substate } from './substate.ts'
import type { Tracer } from './tracer.ts'
import { type Word, wordToAddress, wordToSlot } from './word.ts'

/** What a program can see of its block and transaction. */
export interface Surroundings {
  world: WorldState
  substate: Substate
  table: OpcodeTable
  origin: Word
  gasPrice: Word
  coinbase: Word
  timestamp: Word
  number: number
  prevRandao: Word
  gasLimit: Word
  baseFee: Word
  chainId: Word
  /** EIP-3860 (Canyon). */
  limitsInitCode: boolean
  /** EIP-6780 (Ecotone). */
  keepsContracts: boolean
  /** EIP-7702 (Isthmus). */
  followsDelegations: boolean
  /** undefined costs nothing. */
  tracer: Tracer | undefined
  /** Hash of one of the last 256 blocks; 0 for any other number. */
  blockHash(number: Word): Word
}

export interface Host extends Surroundings {
  addresses: HexNames
  slots: HexNames
}

/** Words whose names are kept before all are forgotten. */
const KEPT_NAMES = 10_000

/** How the state names words: programs use few of them, over and over. */
export class HexNames {
  private readonly nameOf: (word: Word) => Hex
  private readonly names = new Map<Word, Hex>()

  constructor(nameOf: (word: Word) => Hex) {
    this.nameOf = nameOf
  }

  of(word: Word): Hex {
    let name = this.names.get(word)
    if (name === undefined) {
      name = this.nameOf(word)
      if (this.names.size >= KEPT_NAMES) this.names.clear()
      this.names.set(word, name)
    }
    return name
  }
}

export function createHost(surroundings: Surroundings): Host {
  return { ...surroundings, addresses: new HexNames(wordToAddress), slots: new HexNames(wordToSlot) }
}
