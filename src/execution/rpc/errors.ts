import { JsonRpcError, RPC_SERVER_ERROR } from '../../jsonRpc/types.ts'

/** An error with geth's general code. */
export function serverError(message: string): JsonRpcError {
  return new JsonRpcError(RPC_SERVER_ERROR, message)
}

/** geth's and op-reth's code of a block or state that the node has had. */
const RPC_PRUNED_HISTORY = 4444

/** For a block or state that is not kept any more; clients know it by the code. */
export function prunedHistory(what: string): JsonRpcError {
  return new JsonRpcError(RPC_PRUNED_HISTORY, `pruned history unavailable: ${what}`)
}
