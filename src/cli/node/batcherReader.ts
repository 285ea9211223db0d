import { loadToken } from '../../jsonRpc/bearerToken.ts'
import { createRpcClient, RpcTransportError } from '../../jsonRpc/client.ts'
import { JsonRpcError, RPC_METHOD_NOT_FOUND } from '../../jsonRpc/types.ts'
import { DeviumError } from '../../lib/errors.ts'
import { batcherStatusSchema, type ReadBatcher } from '../../rpc/index.ts'

/** Time limit of a request, because a web page waits for the answer. */
const TIMEOUT_MS = 3_000
const MAX_STATUS_BYTES = 1024 * 1024
const TOKEN_FLAG = '--dashboard.batcher-token-file'

/** The batch submitter's status cannot be read. The message gives the cause and the remedy, for the reader of the page. */
export class BatcherUnreadableError extends DeviumError<'batcher-unreadable'> {
  override readonly name = 'BatcherUnreadableError'
}

export interface BatcherReader {
  read: ReadBatcher
  close(): Promise<void>
}

/** Creates a reader of a batch submitter's status. Throws UsageError for an invalid token file. */
export function createBatcherReader({ url, tokenFile }: { url: string; tokenFile: string | undefined }): BatcherReader {
  const token = tokenFile === undefined ? undefined : loadToken(tokenFile, { create: false })
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const rpc = createRpcClient({ url, headers, timeoutMs: TIMEOUT_MS, maxResponseBytes: MAX_STATUS_BYTES })
  const who = `the batch submitter at ${rpc.url}`
  return {
    async read() {
      try {
        return batcherStatusSchema.parse(await rpc.request('admin_batcherStatus', []))
      } catch (cause) {
        const { text, isWhole } = problemOf(cause, token !== undefined)
        throw new BatcherUnreadableError('batcher-unreadable', `${who} ${text}`, isWhole ? {} : { cause })
      }
    },
    close: rpc.close,
  }
}

/** `isWhole`: the text holds everything that the error says. */
function problemOf(error: unknown, hasToken: boolean): { text: string; isWhole: boolean } {
  if (requiresToken(error)) {
    const text = hasToken
      ? `refuses the token in the file of ${TOKEN_FLAG}`
      : `requires a bearer token: set ${TOKEN_FLAG} to the file with the token`
    return { text, isWhole: true }
  }
  if (error instanceof JsonRpcError && error.rpcCode === RPC_METHOD_NOT_FOUND) {
    return { text: 'does not report its status: it runs without --rpc.enable-admin', isWhole: true }
  }
  if (error instanceof RpcTransportError) return { text: 'does not answer', isWhole: false }
  return { text: 'does not report its status', isWhole: false }
}

/** A status request changes nothing, so an authentication error means that the submitter requires a token for reads. */
function requiresToken(error: unknown): boolean {
  return error instanceof RpcTransportError && error.details.status === 401
}
