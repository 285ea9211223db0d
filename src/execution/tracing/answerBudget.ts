import { JsonRpcError, RPC_LIMIT_EXCEEDED } from '../../jsonRpc/types.ts'

/**
 * Characters of one answer. They take up to three times as many bytes while they are collected, in a heap of 256 MB. The
 * HTTP server keeps 64 MiB of unread answers.
 */
const MAX_CHARACTERS = 50_000_000

/** Limits what a simulation, or the traces of all transactions of a request, may collect. */
export class AnswerBudget {
  private readonly advice: string
  private readonly maxCharacters: number
  private taken = 0

  /** `advice` tells how to get a shorter answer. */
  constructor(advice: string, maxCharacters = MAX_CHARACTERS) {
    this.advice = advice
    this.maxCharacters = maxCharacters
  }

  /** Characters that the answer will have. Throws JsonRpcError if they are too many. */
  take(characters: number): void {
    this.taken += characters
    if (this.taken <= this.maxCharacters) return
    throw new JsonRpcError(RPC_LIMIT_EXCEEDED, `the answer has more than ${this.maxCharacters} bytes: ${this.advice}`)
  }
}
