import { createRpcClient, type RpcClient, type RpcClientOptions } from '../client.ts'

/** Shorter than the limit of a test, so that the error names the call. No test chooses a limit of its own. */
const CALL_LIMIT_MS = 100_000

/** A client that fails only at a call without an answer: a busy machine exceeds the ten seconds of a program's client. */
export function createPatientClient(options: Omit<RpcClientOptions, 'timeoutMs'>): RpcClient {
  return createRpcClient({ ...options, timeoutMs: CALL_LIMIT_MS })
}
