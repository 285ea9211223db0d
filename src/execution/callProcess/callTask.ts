import type { JsonValue } from '../../jsonRpc/types.ts'
import type { Hex } from '../../lib/hex.ts'
import type { RpcOptions } from '../rpc/options.ts'

// What goes between the program and the process that runs calls. Parameters and results go along as JSON.

export type CallOptions = Pick<
  RpcOptions,
  | 'evmTimeoutMs'
  | 'callGasCap'
  | 'maxLogRangeBlocks'
  | 'maxLogs'
  | 'maxLogCharacters'
  | 'minSuggestedTipWei'
  | 'maxSuggestedTipWei'
>

export interface LabelHashes {
  head: Hex
  safe: Hex | undefined
  finalized: Hex | undefined
}

export type CallTask =
  /** The first one: which chain it is. */
  | { kind: 'start'; config: unknown; genesis: Hex; options: CallOptions }
  | { kind: 'call'; id: number; method: string; labels: LabelHashes }
  /** The body of a request for some of these methods. */
  | { kind: 'body'; id: number; labels: LabelHashes; served: ServedMethods }
  /** What the program answers to a question. */
  | { kind: 'answer'; question: number }
  /** Nobody waits for this one any more; it is answered all the same. */
  | { kind: 'cancel'; id: number }

export interface ServedMethods {
  methods: readonly string[]
  maxBatchSize: number
}

export interface CallAnswer {
  id: number
  /** Not the answer yet: the bytes are a request for a method that the program itself has to run, of this number. */
  question?: number
  /** What went wrong inside with single calls of a body, for the program's log. */
  unexpected?: readonly { method: string; message: string }[]
  /** Absent: the bytes are the result. */
  error?: {
    rpcCode: number
    message: string
    data: JsonValue | undefined
    /** Nobody meant to throw it: the message is for the program's log. */
    isUnexpected: boolean
  }
}
