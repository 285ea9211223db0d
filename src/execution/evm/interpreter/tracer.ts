import type { Hex } from '../../../lib/hex.ts'
import type { Log } from '../../primitives/block.ts'
import type { Frame } from './frame.ts'

export type MessageKind = 'CALL' | 'CALLCODE' | 'DELEGATECALL' | 'STATICCALL' | 'CREATE' | 'CREATE2' | 'SELFDESTRUCT'

/** A message as it begins. */
export interface TracedMessage {
  kind: MessageKind
  /** The contract whose code sends it, or the sender of the transaction. */
  from: Hex
  /** Whose code it runs, or the contract that it makes. */
  to: Hex
  /** Wei; undefined where the kind has none. */
  value: bigint | undefined
  gas: number
  /** May change once the message has ended. */
  input: Uint8Array
}

/** How a message ended. */
export interface TracedOutcome {
  gasLeft: number
  output: Uint8Array
  /** Absent on success: geth's words. */
  failure?: string | undefined
}

/** Told of what a transaction does, in order. Messages nest; each that begins ends, also where none of its code ran. */
export interface Tracer {
  /** Of each opcode that is about to run. */
  onStep?(frame: Frame): void
  /** Of a program that has ended, before anything comes of it. */
  onEnd?(frame: Frame): void
  onEnter?(message: TracedMessage): void
  onExit?(outcome: TracedOutcome): void
  onLog?(log: Omit<Log, 'logIndex'>): void
}
