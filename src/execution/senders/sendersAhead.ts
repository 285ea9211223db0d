import type { Hex } from '../../lib/hex.ts'
import { nextTurn } from '../../lib/nextTurn.ts'
import { takeTurn } from '../../lib/turns.ts'
import { isSignedEncoding } from '../tx/decodeTransaction.ts'

/** Senders of a block's transactions, while another core is at them. */
export interface SendersAhead {
  /** undefined while it is not known. Those up to this one are wanted no more: who decodes goes from first to last. */
  senderOf(index: number): Hex | undefined
}

/** The other core goes from last to first, so that each transaction is done by whoever comes to it before the other. */
export class Batch implements SendersAhead {
  private readonly encodings: readonly Uint8Array[]
  private readonly senders: (Hex | undefined)[] = []
  /** Of those before this one nothing is wanted. */
  private wantedFrom = 0
  /** Those from here on were taken. */
  private takenFrom: number

  constructor(encodings: readonly Uint8Array[]) {
    this.encodings = encodings
    this.takenFrom = encodings.length
  }

  /** Signed transactions that are still to be taken, or deposits between them. */
  get left(): number {
    return Math.max(0, this.takenFrom - this.wantedFrom)
  }

  senderOf(index: number): Hex | undefined {
    this.wantedFrom = index + 1
    return this.senders[index]
  }

  /** The last signed transaction that was not taken. */
  take(): { index: number; raw: Uint8Array } | undefined {
    while (this.left > 0) {
      this.takenFrom -= 1
      const index = this.takenFrom
      const raw = this.encodings[index]
      if (raw !== undefined && isSignedEncoding(raw)) return { index, raw }
    }
    return undefined
  }

  found(index: number, sender: Hex): void {
    this.senders[index] = sender
  }

  /** Nobody wants more of them. */
  end(): void {
    this.wantedFrom = this.encodings.length
  }
}

/** Transactions from one turn of the event loop to the next, by which what was recovered comes in: 1 ms of work. */
const TURN_TRANSACTIONS = 32

/** Before each transaction of a block that is decoded. */
export function nextTransaction(ahead: SendersAhead | undefined, index: number): Promise<void> | undefined {
  return ahead !== undefined && index % TURN_TRANSACTIONS === 0 ? nextTurn() : takeTurn()
}
