import {
  decodePostExecTx,
  isPostExecTx,
  type PostExecTx,
  SDM_VERSION,
} from '../../rollup/protocol/transaction/postExec.ts'
import { ChainError } from '../errors.ts'
import type { BlockContext } from '../evm/message.ts'
import { isSignedEncoding } from '../tx/decodeTransaction.ts'

/** The rule that a block breaks with its post-exec transaction: `details.problem` of the ChainError `invalidBlock`. */
export type PostExecProblem =
  | 'postExecBeforeLagoon'
  | 'postExecNotLast'
  | 'postExecTwice'
  | 'postExecVersion'
  | 'postExecBlockNumber'
  | 'noRefunds'
  | 'refundZero'
  | 'refundOrder'
  | 'refundTarget'
  | 'refundTooLarge'

/** Gas that a block refunds, by the index of its transaction. */
export type GasRefunds = ReadonlyMap<number, bigint>

const NO_REFUNDS: GasRefunds = new Map()

/**
 * Reads the refunds of the block's post-exec transaction; none where the block has none. Throws ChainError `invalidBlock` where the block
 * breaks a rule (specs: lagoon/post-exec, "Block-Level Structural Rules"; lagoon/sdm, "Validity Rules"), and DecodeError.
 */
export function readRefunds(
  transactions: readonly Uint8Array[],
  { number, rules }: Pick<BlockContext, 'number' | 'rules'>,
): GasRefunds {
  const index = transactions.findIndex(isPostExecTx)
  const encoded = transactions[index]
  if (encoded === undefined) return NO_REFUNDS
  if (!rules.lagoon) throw postExecInvalid('postExecBeforeLagoon', `transaction ${index} of type 0x7d before Lagoon`)
  const second = transactions.findIndex((other, at) => at > index && isPostExecTx(other))
  if (second !== -1) throw postExecInvalid('postExecTwice', `transactions ${index} and ${second} are both of type 0x7d`)
  if (index !== transactions.length - 1) {
    throw postExecInvalid('postExecNotLast', `transaction ${index} of type 0x7d is not the last one`)
  }
  const payload = decodePostExecTx(encoded)
  if (payload.version !== SDM_VERSION) {
    throw postExecInvalid('postExecVersion', `version ${payload.version}, expected ${SDM_VERSION}`)
  }
  if (payload.blockNumber !== number) {
    throw postExecInvalid('postExecBlockNumber', `made for block ${payload.blockNumber}, found in block ${number}`)
  }
  return checkRefunds(payload, transactions)
}

function checkRefunds({ refunds }: PostExecTx, transactions: readonly Uint8Array[]): GasRefunds {
  if (refunds.length === 0) throw postExecInvalid('noRefunds', 'it refunds nothing')
  const byIndex = new Map<number, bigint>()
  let before = -1
  for (const { index, gasRefund } of refunds) {
    if (gasRefund === 0n) throw postExecInvalid('refundZero', `the refund of transaction ${index} is zero`)
    if (index <= before) throw postExecInvalid('refundOrder', `transaction ${index} is listed after ${before}`)
    const target = transactions[index]
    if (target === undefined || !isSignedEncoding(target)) {
      throw postExecInvalid('refundTarget', `transaction ${index} is none that can be refunded`)
    }
    byIndex.set(index, gasRefund)
    before = index
  }
  return byIndex
}

export function postExecInvalid(problem: PostExecProblem, text: string): ChainError {
  return new ChainError('invalidBlock', `invalid post-exec transaction: ${text}`, { details: { problem } })
}
