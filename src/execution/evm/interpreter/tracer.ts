import type { Hex } from '../../../lib/hex.ts'
import type { Log } from '../../primitives/block.ts'
import type { Frame } from './frame.ts'

export type MessageKind = 'CALL' | 'CALLCODE' | 'DELEGATECALL' | 'STATICCALL' | 'CREATE' | 'CREATE2' | 'SELFDESTRUCT'

export interface TracedMessage {
  kind: MessageKind
  /** The calling contract, or the sender of the transaction. */
  from: Hex
  /** The account whose code runs, or the created contract. */
  to: Hex
  /** Wei; undefined if the kind has no value. */
  value: bigint | undefined
  gas: number
  /** May change after the message has ended. */
  input: Uint8Array
}

export interface TracedOutcome {
  gasLeft: number
  output: Uint8Array
  /** Undefined on success. geth's message. */
  failure?: string | undefined
}

/**
 * Receives the events of a transaction, in order. Messages nest. Each message that begins also ends, even if no code
 * ran.
 */
export interface Tracer {
  /** Called before each opcode. */
  onStep?(frame: Frame): void
  /** Called when a program has ended, before its outcome takes effect. */
  onEnd?(frame: Frame): void
  onEnter?(message: TracedMessage): void
  onExit?(outcome: TracedOutcome): void
  onLog?(log: Omit<Log, 'logIndex'>): void
}
