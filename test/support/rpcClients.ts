import { createRpcClient, type RpcClient } from '../../src/jsonRpc/client.ts'

/** What hangs is to be told from what is slow: a busy machine may take more than the ten seconds that clients wait by default. */
const TIMEOUT_MS = 120_000

/** Clients of the programs that a file of tests has started. */
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
