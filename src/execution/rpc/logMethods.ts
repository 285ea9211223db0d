import { type Hex, isHex } from '../../lib/hex.ts'
import type { MethodTable, RpcModules, RpcOptions } from './context.ts'
import { FilterStore } from './filterStore.ts'
import { logFilter } from './logFilter.ts'
import { searchLogs } from './logSearch.ts'
import { flag, method, optional, type Param } from './params.ts'

const filterId: Param<Hex> = {
  parse(value) {
    if (!isHex(value) || value.length > 34) throw new TypeError('filter id: expected hex with 0x prefix')
    return value
  },
}

/** eth_getLogs and polled filters. */
export function createLogMethods(
  modules: Pick<RpcModules, 'chain' | 'pool' | 'clock' | 'logger'>,
  limits: Pick<RpcOptions, 'maxLogRangeBlocks' | 'maxLogs' | 'maxLogCharacters'>,
): MethodTable {
  const { chain } = modules
  const filters = new FilterStore(modules)
  return {
    eth_getLogs: method([logFilter], ([filter], { signal }) => searchLogs(chain, filter, limits, signal)),
    eth_newFilter: method([logFilter], ([filter]) => filters.installLogs(filter)),
    eth_newBlockFilter: method([], () => filters.install({ kind: 'blocks' })),
    eth_newPendingTransactionFilter: method([optional(flag, false)], () => filters.install({ kind: 'transactions' })),
    eth_getFilterChanges: method([filterId], ([id]) => filters.changes(id)),
    eth_getFilterLogs: method([filterId], ([id], { signal }) =>
      searchLogs(chain, filters.logFilterOf(id), limits, signal),
    ),
    eth_uninstallFilter: method([filterId], ([id]) => filters.uninstall(id)),
  }
}
