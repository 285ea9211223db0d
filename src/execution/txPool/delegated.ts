import type { Hex } from '../../lib/hex.ts'
import { yieldToLoop } from '../../lib/yieldToLoop.ts'
import type { SignedTransaction } from '../primitives/block.ts'
import { TxPoolError } from './errors.ts'
import type { SenderQueue } from './senderQueue.ts'

/**
 * An account with delegated code may be emptied by others at any time, so it may have only one executable transaction
 * (geth). The same holds for an account that a pooled set-code transaction authorizes.
 */
export function checkDelegated({ nonce }: SignedTransaction, queue: SenderQueue): void {
  if (queue.get(nonce) !== undefined) return
  if (queue.size > 0) throw new TxPoolError('delegated-limit')
  if (nonce !== queue.accountNonce) throw new TxPoolError('delegated-gap')
}

/** The accounts that the transaction authorizes. Recovering a thousand of them takes tens of milliseconds. */
export async function authoritiesOf({ authorizationList = [] }: SignedTransaction): Promise<ReadonlySet<Hex>> {
  const authorities = new Set<Hex>()
  for (const { authority } of authorizationList) {
    if (authority !== undefined) authorities.add(authority)
    await yieldToLoop()
  }
  return authorities
}
