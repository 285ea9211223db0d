import { isSignedEncoding } from '../../rollup/protocol/index.ts'
import {
  decodePostExecTx,
  isPostExecTx,
  type PostExecTx,
  SDM_VERSION,
} from '../../rollup/protocol/transaction/postExec.ts'
import { ChainError } from '../errors.ts'
import type { BlockContext } from '../evm/message.ts'

/** The rule that a block's post-exec transaction breaks: `details.problem` of the ChainError `invalid-block`. */
export type PostExecProblem =
  | 'post-exec-before-lagoon'
  | 'post-exec-not-last'
  | 'post-exec-twice'
  | 'post-exec-version'
  | 'post-exec-block-number'
  | 'no-refunds'
  | 'refund-zero'
  | 'refund-order'
  | 'refund-target'
  | 'refund-too-large'

/** Refunded gas by transaction index. */
export type GasRefunds = ReadonlyMap<number, bigint>

const NO_REFUNDS: GasRefunds = new Map()

/**
 * Reads the refunds of the block's post-exec transaction. Empty if there is none. Throws ChainError `invalid-block` if
 * the block breaks a rule (specs: lagoon/post-exec, "Block-Level Structural Rules"; lagoon/sdm, "Validity Rules"), and
 * DecodeError.
 */
export function readRefunds(
  transactions: readonly Uint8Array[],
  { number, rules }: Pick<BlockContext, 'number' | 'rules'>,
): GasRefunds {
  const index = transactions.findIndex(isPostExecTx)
  const encoded = transactions[index]
  if (encoded === undefined) return NO_REFUNDS
  if (!rules.lagoon) throw postExecInvalid('post-exec-before-lagoon', `transaction ${index} of type 0x7d before Lagoon`)
  const second = transactions.findIndex((other, at) => at > index && isPostExecTx(other))
  if (second !== -1)
    throw postExecInvalid('post-exec-twice', `transactions ${index} and ${second} are both of type 0x7d`)
  if (index !== transactions.length - 1) {
    throw postExecInvalid('post-exec-not-last', `transaction ${index} of type 0x7d is not the last one`)
  }
  const payload = decodePostExecTx(encoded)
  if (payload.version !== SDM_VERSION) {
    throw postExecInvalid('post-exec-version', `version ${payload.version}, expected ${SDM_VERSION}`)
  }
  if (payload.blockNumber !== number) {
    throw postExecInvalid('post-exec-block-number', `made for block ${payload.blockNumber}, found in block ${number}`)
  }
  return checkRefunds(payload, transactions)
}

function checkRefunds({ refunds }: PostExecTx, transactions: readonly Uint8Array[]): GasRefunds {
  if (refunds.length === 0) throw postExecInvalid('no-refunds', 'it refunds nothing')
  const byIndex = new Map<number, bigint>()
  let before = -1
  for (const { index, gasRefund } of refunds) {
    if (gasRefund === 0n) throw postExecInvalid('refund-zero', `the refund of transaction ${index} is zero`)
    if (index <= before) throw postExecInvalid('refund-order', `transaction ${index} is listed after ${before}`)
    const target = transactions[index]
    if (target === undefined || !isSignedEncoding(target)) {
      throw postExecInvalid('refund-target', `transaction ${index} cannot be refunded: expected a signed transaction`)
    }
    byIndex.set(index, gasRefund)
    before = index
  }
  return byIndex
}

export function postExecInvalid(problem: PostExecProblem, text: string): ChainError {
  return new ChainError('invalid-block', `invalid post-exec transaction: ${text}`, { details: { problem } })
}
