import { EMPTY_BYTES } from '../../../lib/bytes.ts'
import { type Hex, toHex, toQuantity } from '../../../lib/hex.ts'
import type { ReadableChain } from '../../chain/chainView.ts'
import type { CallPlace, CallRequest } from '../../chain/simulation/types.ts'
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
  const callMethod = (run: (request: CallRequest, place: CallPlace, client: AbortSignal) => Promise<unknown>) =>
    method(
      [callArguments, blockSelector, stateOverrides, blockOverrides],
      async ([args, selector, overrides, block], { signal }) => {
        const { hash: blockHash } = await requireHeader(chain, selector)
        return run(limitCall(args, chain.config.chainId, callGasCap), { blockHash, overrides, block }, signal)
      },
    )
  return {
    eth_call: callMethod(async (request, place, client) => {
      const { failure, returnData } = await chain.call(request, place, client).catch((error: unknown) => {
        if (!hasCode(error, 'execution-failed')) throw error
        throw serverError(`err: ${error.message} (supplied gas ${request.gas ?? UNLIMITED_GAS})`)
      })
      if (failure === undefined) return toHex(returnData)
      throw failure === REVERTED ? revertError(returnData) : serverError(failure)
    }),
    eth_estimateGas: callMethod(async (request, place, client) => {
      try {
        return toQuantity(await chain.estimateGas(request, place, client))
      } catch (error) {
        if (!hasCode(error, 'execution-reverted')) throw error
        const { data } = error.details
        throw revertError(data instanceof Uint8Array ? data : EMPTY_BYTES)
      }
    }),
    eth_createAccessList: callMethod(async (request, place, client) => {
      let accessList = mergeAccessLists(request.accessList ?? [], [])
      for (;;) {
        const { accessList: cold, gasUsed, failure } = await chain.call({ ...request, accessList }, place, client)
        if (cold.length === 0) {
          return { accessList, gasUsed: toQuantity(gasUsed), ...(failure === undefined ? {} : { error: failure }) }
        }
        // With the access list, the call may take another path.
        accessList = mergeAccessLists(accessList, cold)
      }
    }),
  }
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
