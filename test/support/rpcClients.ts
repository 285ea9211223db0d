import { createRpcClient, type RpcClient } from '../../src/lib/jsonRpc/client.ts'

/** Clients of the programs that a file of tests has started. */
export interface RpcClients {
  connectTo(url: string | undefined): RpcClient
  close(): Promise<void>
}

export function createRpcClients(): RpcClients {
  const clients: RpcClient[] = []
  return {
    connectTo(url) {
      const client = createRpcClient({ url: url ?? '' })
      clients.push(client)
      return client
    },
    async close() {
      await Promise.all(clients.map((client) => client.close()))
    },
  }
}
