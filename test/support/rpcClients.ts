import { createRpcClient, type RpcClient } from '../../src/jsonRpc/client.ts'

/** A long timeout, so that only a hang fails. A busy machine may exceed the clients' default of ten seconds. */
const TIMEOUT_MS = 120_000

/** Clients of the programs that a test file has started. */
export interface RpcClients {
  connectTo(url: string | undefined): RpcClient
  close(): Promise<void>
}

export function createRpcClients(): RpcClients {
  const clients: RpcClient[] = []
  return {
    connectTo(url) {
      const client = createRpcClient({ url: url ?? '', timeoutMs: TIMEOUT_MS })
      clients.push(client)
      return client
    },
    async close() {
      await Promise.all(clients.map((client) => client.close()))
    },
  }
}
