import type { Hex } from '../../lib/hex.ts'
import type { Logger } from '../../lib/logger.ts'
import type { SubmitterL1 } from '../l1/submitterL1.ts'
import type { TxManagerMetrics } from './metrics.ts'
import type { L1Terms } from './obstacle.ts'
import type { L1Tx } from './transaction.ts'

export interface L1TermsModules {
  l1: Pick<SubmitterL1, 'estimateGas' | 'nonceAt' | 'suggestFees'>
  signer: { readonly address: Hex }
  logger: Logger
  metrics: Pick<TxManagerMetrics, 'rpcError'>
}

/** Reads the gas and fees that the L1 requires for a transaction now. */
export async function readTerms(modules: L1TermsModules, tx: L1Tx, signal: AbortSignal): Promise<L1Terms> {
  const { l1, signer } = modules
  const call = { from: signer.address, to: tx.to, data: tx.data }
  const [fees, gasNeeded] = await Promise.all([
    l1.suggestFees(undefined, signal),
    // Some L1 nodes suggest fees for a transaction but fail to execute it.
    orUndefined(modules, l1.estimateGas(call, signal), signal),
  ])
  return { fees, gasNeeded }
}

/** The account's nonce. Undefined if the request fails. */
export function readNonce(
  modules: L1TermsModules,
  block: 'latest' | 'pending',
  signal: AbortSignal,
): Promise<number | undefined> {
  return orUndefined(modules, modules.l1.nonceAt(modules.signer.address, block, signal), signal)
}

/** Undefined if the request fails. Rejects only with the signal's reason. */
export async function orUndefined<T>(
  { logger, metrics }: Pick<L1TermsModules, 'logger' | 'metrics'>,
  request: Promise<T>,
  signal: AbortSignal,
  message = 'Failed to read the fees, gas or nonce of a transaction from the L1',
  fields = {},
): Promise<T | undefined> {
  try {
    return await request
  } catch (error) {
    signal.throwIfAborted()
    metrics.rpcError()
    logger.debug(message, { ...fields, err: error })
    return undefined
  }
}
