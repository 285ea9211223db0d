import { toHex, toQuantity } from '../../../lib/hex.ts'
import type { ReadableChain } from '../../chain/chainView.ts'
import { requireState } from '../blockLookup.ts'
import type { MethodTable, RpcPool } from '../context.ts'
import * as param from '../params.ts'
import { method } from '../params.ts'

export function createStateMethods({
  chain,
  pool,
}: {
  chain: ReadableChain
  pool: Pick<RpcPool, 'nextNonce'>
}): MethodTable {
  return {
    eth_getBalance: method([param.address, param.blockSelector], async ([address, selector]) => {
      const account = (await requireState(chain, selector)).account(address)
      return toQuantity(account?.balance ?? 0n)
    }),
    eth_getCode: method([param.address, param.blockSelector], async ([address, selector]) =>
      toHex((await requireState(chain, selector)).code(address)),
    ),
    eth_getStorageAt: method(
      [param.address, param.storageSlot, param.blockSelector],
      async ([address, slot, selector]) => (await requireState(chain, selector)).storage(address, slot),
    ),
    eth_getTransactionCount: method([param.address, param.blockSelector], async ([address, selector]) => {
      if (selector.kind === 'label' && selector.label === 'pending') {
        const next = pool.nextNonce(address)
        if (next !== undefined) return toQuantity(next)
      }
      const account = (await requireState(chain, selector)).account(address)
      return toQuantity(account?.nonce ?? 0n)
    }),
  }
}
