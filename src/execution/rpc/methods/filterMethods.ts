import type { RpcHandler } from '../../../jsonRpc/server.ts'
import type { JsonValue } from '../../../jsonRpc/types.ts'
import type { MethodTable, RpcModules } from '../context.ts'
import { FilterStore } from '../logs/filterStore.ts'
import { type LogFilter, logFilter } from '../logs/logFilter.ts'
import { flag, idOf, method, optional, type Param } from '../params.ts'

const filterId = idOf('filter')

/** Internal method: RPC processes request a log filter's criteria with it. */
export const FILTER_CRITERIA = 'process_filterCriteria'

/** Also keeps the given JSON, which FILTER_CRITERIA returns. */
const criteria: Param<{ filter: LogFilter; given: JsonValue }> = {
  parse: (given) => ({ filter: logFilter.parse(given), given }),
}

/** Polled filters. `getLogs` searches past blocks. */
export function createFilterMethods(
  modules: Pick<RpcModules, 'chain' | 'pool' | 'clock' | 'logger'>,
  getLogs: RpcHandler | undefined,
): MethodTable {
  const filters = new FilterStore(modules)
  return {
    eth_newFilter: method([criteria], ([{ filter, given }]) => filters.installLogs(filter, given)),
    eth_newBlockFilter: method([], () => filters.install({ kind: 'blocks' })),
    eth_newPendingTransactionFilter: method([optional(flag, false)], () => filters.install({ kind: 'transactions' })),
    eth_getFilterChanges: method([filterId], ([id]) => filters.changes(id)),
    eth_getFilterLogs: method([filterId], ([id], context) => getLogs?.([filters.criteriaOf(id)], context)),
    // For RPC processes, which run the search themselves.
    [FILTER_CRITERIA]: method([filterId], ([id]) => filters.criteriaOf(id)),
    eth_uninstallFilter: method([filterId], ([id]) => filters.uninstall(id)),
  }
}
