import { DeviumError } from '../../lib/errors.ts'
import { toHex, toQuantity } from '../../lib/hex.ts'
import type { JsonRpcError } from '../../lib/jsonRpc/types.ts'
import type { CallResult } from '../chain/types.ts'
import { requireHeader, serverError } from './blockLookup.ts'
import { callArguments, limitCall, noBlockOverrides, stateOverrides } from './callArguments.ts'
import type { MethodTable, RpcModules, RpcOptions } from './context.ts'
import { blockSelector, method } from './params.ts'
import { revertError } from './revert.ts'

/** eth_call and its kin: simulated on the state after a block, without L1 fee. */
export function createCallMethods(
  { chain }: Pick<RpcModules, 'chain'>,
  { callGasCap }: Pick<RpcOptions, 'callGasCap'>,
): MethodTable {
  return {
    eth_call: method(
      [callArguments, blockSelector, stateOverrides, noBlockOverrides],
      async ([args, selector, overrides]) => {
        const { hash } = await requireHeader(chain, selector)
        const result = await chain.call(limitCall(args, chain.config.chainId, callGasCap), hash, overrides)
        const failure = failureOf(result)
        if (failure !== undefined) throw failure
        return toHex(result.returnData)
      },
    ),
    eth_estimateGas: method([callArguments, blockSelector, stateOverrides], async ([args, selector, overrides]) => {
      const { hash } = await requireHeader(chain, selector)
      try {
        return toQuantity(await chain.estimateGas(limitCall(args, chain.config.chainId, callGasCap), hash, overrides))
      } catch (error) {
        if (error instanceof DeviumError && error.code === 'executionReverted') {
          const { data } = error.details
          throw revertError(data instanceof Uint8Array ? data : new Uint8Array())
        }
        throw error
      }
    }),
    eth_createAccessList: method(
      [callArguments, blockSelector, stateOverrides],
      async ([args, selector, overrides]) => {
        const { hash } = await requireHeader(chain, selector)
        const request = limitCall(args, chain.config.chainId, callGasCap)
        const first = await chain.call(request, hash, overrides)
        // A list may change which way the code goes; geth repeats until it is stable. Twice settles all but oddities.
        const { accessList, gasUsed, failure } = await chain.call(
          { ...request, accessList: first.accessList },
          hash,
          overrides,
        )
        return {
          accessList: accessList.map(({ address, storageKeys }) => ({ address, storageKeys })),
          gasUsed: toQuantity(gasUsed),
          ...(failure === undefined ? {} : { error: failure.message }),
        }
      },
    ),
  }
}

function failureOf({ failure, returnData }: CallResult): JsonRpcError | undefined {
  if (failure === undefined) return undefined
  return failure.kind === 'revert' ? revertError(returnData) : serverError(failure.message)
}
