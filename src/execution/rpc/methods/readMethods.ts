import type { ReadableChain } from '../../chain/chainView.ts'
import type { MethodTable } from '../context.ts'
import { logFilter } from '../logs/logFilter.ts'
import { searchLogs } from '../logs/logSearch.ts'
import type { RpcOptions } from '../options.ts'
import { method } from '../params.ts'
import { createBlockMethods } from './blockMethods.ts'
import { createCallMethods } from './callMethods.ts'
import { createFeeMethods } from './feeMethods.ts'
import { createMinedMethods } from './minedMethods.ts'
import { createProofMethods } from './proofMethods.ts'
import { createRawMethods } from './rawMethods.ts'
import { createSimulateMethods } from './simulateMethods.ts'
import { createTraceMethods } from './traceMethods.ts'
import { createWitnessMethods } from './witnessMethods.ts'

export type ReadOptions = Pick<
  RpcOptions,
  'callGasCap' | 'maxLogRangeBlocks' | 'maxLogs' | 'maxLogCharacters' | 'minSuggestedTipWei' | 'maxSuggestedTipWei'
>

/** Methods that only read a chain. RPC processes run them. */
export function createReadMethods(chain: ReadableChain, options: ReadOptions): MethodTable {
  return {
    ...createBlockMethods(chain),
    ...createCallMethods(chain, options),
    ...createFeeMethods(chain, options),
    eth_getLogs: method([logFilter], ([filter], { signal }) => searchLogs(chain, filter, options, signal)),
    ...createMinedMethods(chain),
    ...createProofMethods(chain),
    ...createRawMethods(chain),
    ...createSimulateMethods(chain, options),
    ...createTraceMethods(chain, options),
    ...createWitnessMethods(chain),
  }
}
