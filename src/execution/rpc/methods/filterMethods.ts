import type { RpcHandler } from '../../../jsonRpc/server.ts'
import type { Hex } from '../../../lib/hex.ts'
import type { MethodTable, RpcModules } from '../context.ts'
import { FilterStore } from '../logs/filterStore.ts'
import { logFilter, logFilterToJson } from '../logs/logFilter.ts'
import { flag, idOf, method, optional } from '../params.ts'

const filterId = idOf('filter')

/** Internal method: RPC processes request a log filter's criteria with it. */
export const FILTER_CRITERIA = 'process_filterCriteria'

/** Polled filters. `getLogs` searches past blocks. */
export function createFilterMethods(
  modules: Pick<RpcModules, 'chain' | 'pool' | 'clock' | 'logger'>,
  getLogs: RpcHandler | undefined,
): MethodTable {
  const filters = new FilterStore(modules)
  const criteriaOf = (id: Hex) => logFilterToJson(filters.filterOf(id))
  return {
    eth_newFilter: method([logFilter], ([filter]) => filters.installLogs(filter)),
    eth_newBlockFilter: method([], () => filters.install({ kind: 'blocks' })),
    eth_newPendingTransactionFilter: method([optional(flag, false)], ([isWhole]) =>
      filters.install({ kind: 'transactions', isWhole }),
    ),
    eth_getFilterChanges: method([filterId], ([id]) => filters.changes(id)),
    eth_getFilterLogs: method([filterId], ([id], context) => getLogs?.([criteriaOf(id)], context)),
    // For RPC processes, which run the search themselves.
    [FILTER_CRITERIA]: method([filterId], ([id]) => criteriaOf(id)),
    eth_uninstallFilter: method([filterId], ([id]) => filters.uninstall(id)),
  }
}
