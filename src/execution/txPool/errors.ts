import { DeviumError } from '../../lib/errors.ts'

/** Reasons for which the pool refuses a transaction, with geth's texts: wallets recognise them. */
export const POOL_ERROR_TEXTS = {
  alreadyKnown: 'already known',
  invalidSender: 'invalid sender',
  typeNotSupported: 'transaction type not supported',
  oversizedData: 'oversized data',
  gasLimit: 'exceeds block gas limit',
  gasLimitTooHigh: 'transaction gas limit too high',
  initCodeSize: 'max initcode size exceeded',
  feeCapVeryHigh: 'max fee per gas higher than 2^256-1',
  tipVeryHigh: 'max priority fee per gas higher than 2^256-1',
  tipAboveFeeCap: 'max priority fee per gas higher than max fee per gas',
  intrinsicGas: 'intrinsic gas too low',
  floorDataGas: 'insufficient gas for floor data gas cost',
  emptyAuthorizationList: 'set code transaction must have at least one authorization tuple',
  tipTooLow: 'transaction gas price below minimum',
  underpriced: 'transaction underpriced',
  replacementUnderpriced: 'replacement transaction underpriced',
  nonceTooLow: 'nonce too low',
  nonceMax: 'nonce has max value',
  insufficientFunds: 'insufficient funds for gas * price + value',
  accountLimit: 'account limit exceeded',
  delegatedLimit: 'in-flight transaction limit reached for delegated accounts',
  delegatedGap: 'gapped-nonce tx from delegated accounts',
  futureReplacesPending: 'future transaction tries to replace pending',
  poolFull: 'txpool is full',
} as const

export type PoolErrorCode = keyof typeof POOL_ERROR_TEXTS

export class TxPoolError extends DeviumError<PoolErrorCode> {
  override readonly name = 'TxPoolError'

  constructor(code: PoolErrorCode, detail?: string) {
    super(code, detail === undefined ? POOL_ERROR_TEXTS[code] : `${POOL_ERROR_TEXTS[code]}: ${detail}`)
  }
}
