import type { ReadableChain } from '../../chain/types.ts'
import type { MethodTable } from '../context.ts'
import { logFilter } from '../logs/logFilter.ts'
import { searchLogs } from '../logs/logSearch.ts'
import type { RpcOptions } from '../options.ts'
import { method } from '../params.ts'

export function createLogMethods(
  chain: ReadableChain,
  limits: Pick<RpcOptions, 'maxLogRangeBlocks' | 'maxLogs' | 'maxLogCharacters'>,
): MethodTable {
  return {
    eth_getLogs: method([logFilter], ([filter], { signal }) => searchLogs(chain, filter, limits, signal)),
  }
}
