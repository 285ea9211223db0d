import type { Hex } from '../../../lib/hex.ts'
import type { WorldState } from '../../state/worldState.ts'
import type { Frame } from './frame.ts'
import type { OpcodeTable } from './gas.ts'
import type { Word } from './word.ts'

/** What a program can see outside its frame. */
export interface Host {
  world: WorldState
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
  /** Told of each opcode that is about to run; undefined costs nothing. */
  onStep: ((frame: Frame) => void) | undefined
  /** Hash of one of the last 256 blocks; 0 for any other number. */
  blockHash(number: Word): Word
  /** True once per transaction and address, which is then warm (EIP-2929). */
  isColdAddress(frame: Frame, word: Word, address: Hex): boolean
  isColdSlot(frame: Frame, word: Word): boolean
  transientLoad(frame: Frame, slot: Word): Word
  transientStore(frame: Frame, slot: Word, value: Word): void
}
