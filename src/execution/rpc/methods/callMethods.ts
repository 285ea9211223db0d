import type { JsonRpcError } from '../../../jsonRpc/types.ts'
import { type Hex, toHex, toQuantity } from '../../../lib/hex.ts'
import type { CallResult } from '../../chain/simulation/types.ts'
import type { ReadableChain } from '../../chain/chainView.ts'
import { hasCode } from '../../errors.ts'
import { REVERTED } from '../../evm/interpreter/failures.ts'
import type { AccessListEntry } from '../../primitives/block.ts'
import { requireHeader } from '../blockLookup.ts'
import { blockOverrides, callArguments, limitCall, stateOverrides } from '../callArguments.ts'
import type { MethodTable } from '../context.ts'
import { serverError } from '../errors.ts'
import type { RpcOptions } from '../options.ts'
import { blockSelector, method } from '../params.ts'
import { revertError } from '../revert.ts'

/** geth's gas limit of a call without a cap. */
const UNLIMITED_GAS = 2n ** 63n - 1n

/** eth_call and similar methods: simulations on the state after a block, without L1 fee. */
export function createCallMethods(chain: ReadableChain, { callGasCap }: Pick<RpcOptions, 'callGasCap'>): MethodTable {
  return {
    eth_call: method(
      [callArguments, blockSelector, stateOverrides, blockOverrides],
      async ([args, selector, overrides, block], { signal }) => {
        const { hash: blockHash } = await requireHeader(chain, selector)
        const request = limitCall(args, chain.config.chainId, callGasCap)
        const result = await chain.call(request, { blockHash, overrides, block }, signal).catch((error: unknown) => {
          if (!hasCode(error, 'execution-failed')) throw error
          throw serverError(`err: ${error.message} (supplied gas ${request.gas ?? UNLIMITED_GAS})`)
        })
        const failure = failureOf(result)
        if (failure !== undefined) throw failure
        return toHex(result.returnData)
      },
    ),
    eth_estimateGas: method(
      [callArguments, blockSelector, stateOverrides, blockOverrides],
      async ([args, selector, overrides, block], { signal }) => {
        const { hash: blockHash } = await requireHeader(chain, selector)
        try {
          const request = limitCall(args, chain.config.chainId, callGasCap)
          return toQuantity(await chain.estimateGas(request, { blockHash, overrides, block }, signal))
        } catch (error) {
          if (hasCode(error, 'execution-reverted')) {
            const { data } = error.details
            throw revertError(data instanceof Uint8Array ? data : new Uint8Array())
          }
          throw error
        }
      },
    ),
    eth_createAccessList: method(
      [callArguments, blockSelector, stateOverrides, blockOverrides],
      async ([args, selector, overrides, block], { signal }) => {
        const { hash: blockHash } = await requireHeader(chain, selector)
        const request = limitCall(args, chain.config.chainId, callGasCap)
        const place = { blockHash, overrides, block }
        let accessList = mergeAccessLists(request.accessList ?? [], [])
        for (;;) {
          const { accessList: cold, gasUsed, failure } = await chain.call({ ...request, accessList }, place, signal)
          if (cold.length === 0) {
            return {
              accessList,
              gasUsed: toQuantity(gasUsed),
              ...(failure === undefined ? {} : { error: failure }),
            }
          }
          // With the access list, the call may take another path.
          accessList = mergeAccessLists(accessList, cold)
        }
      },
    ),
  }
}

function failureOf({ failure, returnData }: CallResult): JsonRpcError | undefined {
  if (failure === undefined) return undefined
  return failure === REVERTED ? revertError(returnData) : serverError(failure)
}

/** Sorted by address and key, as in geth. */
function mergeAccessLists(first: readonly AccessListEntry[], second: readonly AccessListEntry[]): AccessListEntry[] {
  const slots = new Map<Hex, Set<Hex>>()
  for (const { address, storageKeys } of [...first, ...second]) {
    const known = slots.get(address) ?? new Set()
    for (const key of storageKeys) known.add(key)
    slots.set(address, known)
  }
  const storageKeysOf = (address: Hex): Hex[] => [...(slots.get(address) ?? [])].sort()
  return [...slots.keys()].sort().map((address) => ({ address, storageKeys: storageKeysOf(address) }))
}
