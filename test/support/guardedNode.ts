import { z } from 'zod'
import { createRpcApp, serveApp } from '../../src/jsonRpc/httpServer.ts'
import { createRpcDispatcher, type RpcHandler } from '../../src/jsonRpc/server.ts'
import { createPatientClient } from '../../src/jsonRpc/testUtils/patientClient.ts'

const documentSchema = z.object({
  methods: z.array(z.object({ name: z.string(), tags: z.array(z.object({ name: z.string() })) })),
})

/**
 * A local node as other machines see it. It forwards calls to `rpc`, and requires `token` for methods that change something
 * according to the node's own table.
 */
export async function serveGuarded(rpc: string, token: string): Promise<{ url: string; close(): Promise<void> }> {
  const node = createPatientClient({ url: rpc })
  const { methods } = documentSchema.parse(await node.request('rpc_discover', []))
  const changing = new Set(
    methods.filter(({ tags }) => tags.some(({ name }) => name === 'changes')).map(({ name }) => name),
  )
  const handlers = methods.map(({ name }): [string, RpcHandler] => [name, (params) => node.request(name, [...params])])
  const dispatcher = createRpcDispatcher({ methods: new Map(handlers), isChanging: (name) => changing.has(name) })
  const access = { token, guardsReading: false }
  const server = await serveApp(createRpcApp({ dispatcher, access }), '127.0.0.1', 0, 'test')
  return {
    url: server.url,
    close: async () => {
      await server.close()
      await node.close()
    },
  }
}
