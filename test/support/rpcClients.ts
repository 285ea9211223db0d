import type { RpcClient } from '../../src/jsonRpc/client.ts'
import { createPatientClient } from '../../src/jsonRpc/testUtils/patientClient.ts'

/** Clients of the programs that a test file has started. */
export interface RpcClients {
  connectTo(url: string | undefined): RpcClient
  close(): Promise<void>
}

export function createRpcClients(): RpcClients {
  const clients: RpcClient[] = []
  return {
    connectTo(url) {
      const client = createPatientClient({ url: url ?? '' })
      clients.push(client)
      return client
    },
    async close() {
      await Promise.all(clients.map((client) => client.close()))
    },
  }
}
