import { JsonRpcError, RPC_SERVER_ERROR } from '../../jsonRpc/types.ts'

/** An error with geth's general code. */
export function serverError(message: string): JsonRpcError {
  return new JsonRpcError(RPC_SERVER_ERROR, message)
}

/** geth's and op-reth's code for a pruned block or state. */
const RPC_PRUNED_HISTORY = 4444

/** For a pruned block or state. Clients recognise it by the code. */
export function prunedHistory(what: string): JsonRpcError {
  return new JsonRpcError(RPC_PRUNED_HISTORY, `pruned history unavailable: ${what}`)
}
