import { DeviumError } from '../../lib/errors.ts'

/** Why the pool refuses a transaction, with geth's messages: wallets recognise them. */
export const POOL_ERROR_TEXTS = {
  'already-known': 'already known',
  'invalid-sender': 'invalid sender',
  'type-not-supported': 'transaction type not supported',
  'oversized-data': 'oversized data',
  'gas-limit': 'exceeds block gas limit',
  'gas-limit-too-high': 'transaction gas limit too high',
  'init-code-size': 'max initcode size exceeded',
  'fee-cap-very-high': 'max fee per gas higher than 2^256-1',
  'tip-very-high': 'max priority fee per gas higher than 2^256-1',
  'tip-above-fee-cap': 'max priority fee per gas higher than max fee per gas',
  'intrinsic-gas': 'intrinsic gas too low',
  'floor-data-gas': 'insufficient gas for floor data gas cost',
  'empty-authorization-list': 'set code transaction must have at least one authorization tuple',
  'tip-too-low': 'transaction gas price below minimum',
  underpriced: 'transaction underpriced',
  'replacement-underpriced': 'replacement transaction underpriced',
  'nonce-too-low': 'nonce too low',
  'nonce-max': 'nonce has max value',
  'insufficient-funds': 'insufficient funds for gas * price + value',
  'account-limit': 'account limit exceeded',
  'delegated-limit': 'in-flight transaction limit reached for delegated accounts',
  'delegated-gap': 'gapped-nonce tx from delegated accounts',
  'authority-reserved': 'authority already reserved',
  'future-replaces-pending': 'future transaction tries to replace pending',
  'pool-full': 'txpool is full',
} as const

export type PoolErrorCode = keyof typeof POOL_ERROR_TEXTS

export class TxPoolError extends DeviumError<PoolErrorCode> {
  override readonly name = 'TxPoolError'

  constructor(code: PoolErrorCode, detail?: string) {
    super(code, detail === undefined ? POOL_ERROR_TEXTS[code] : `${POOL_ERROR_TEXTS[code]}: ${detail}`)
  }
}
