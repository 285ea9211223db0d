import { onTestFinished } from 'vitest'
import { createRpcApp, serveApp } from '../../../../jsonRpc/httpServer.ts'
import { createRpcDispatcher, type RpcHandler } from '../../../../jsonRpc/server.ts'
import { type BeaconServer, startBeaconServer } from '../../../../l1/testUtils/beaconServer.ts'

/** Starts a JSON-RPC server with these answers. With a secret it requires authentication, as an engine does. */
export async function serveRpc(answers: Readonly<Record<string, unknown>>, jwtSecret?: Uint8Array): Promise<string> {
  const methods = new Map(
    Object.entries(answers).map(([name, answer]): [string, RpcHandler] => [
      name,
      (params) => (typeof answer === 'function' ? answer(params) : answer),
    ]),
  )
  const options = jwtSecret === undefined ? {} : { jwtSecret }
  const app = createRpcApp({ dispatcher: createRpcDispatcher({ methods }), ...options })
  const server = await serveApp(app, '127.0.0.1', 0, 'test')
  onTestFinished(server.close)
  return server.url
}

export async function serveBeacon(change: Partial<BeaconServer> = {}): Promise<BeaconServer> {
  const beacon = await startBeaconServer()
  onTestFinished(beacon.stop)
  return Object.assign(beacon, change)
}
