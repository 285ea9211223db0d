import type { Rules } from '../../config/chainConfig.ts'
import type { WorldState } from '../../state/worldState.ts'
import type { OpcodeTable } from './opcodeTable.ts'
import type { Substate } from './substate.ts'
import type { Tracer } from './tracer.ts'
import type { Word } from './word.ts'

export interface Host {
  world: WorldState
  substate: Substate
  rules: Rules
  table: OpcodeTable
  origin: Word
  gasPrice: Word
  coinbase: Word
  timestamp: Word
  number: number
  prevRandao: Word
  gasLimit: Word
  baseFee: Word
  blobBaseFee: Word
  chainId: Word
  /** Undefined costs nothing. */
  tracer: Tracer | undefined
  /** Hash of one of the last 256 blocks; 0 for any other number. */
  blockHash(number: Word): Word
}
