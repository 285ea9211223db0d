import { randomBytes } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { COMMAND_METHOD, COMMANDS_METHOD, TESTNET_COMMANDS } from '../../src/cli/operator/testnet/commandTable.ts'
import { createRpcApp, type HttpServerHandle, serveApp } from '../../src/jsonRpc/httpServer.ts'
import { createRpcDispatcher, type RpcHandler } from '../../src/jsonRpc/server.ts'
import { invalidParams, type JsonValue } from '../../src/jsonRpc/types.ts'
import type { RunCommand } from './commands.ts'

/** Long, because some commands restart programs. */
const COMMAND_TIMEOUT_MS = 300_000
const MAX_BODY_BYTES = 16_384

/** Accepts commands from other processes of this user, by JSON-RPC on loopback. `file` gets the URL and the required token. */
export async function startControlServer(run: RunCommand, file: string): Promise<Pick<HttpServerHandle, 'close'>> {
  const token = randomBytes(32).toString('hex')
  const methods = new Map<string, RpcHandler>([
    [COMMAND_METHOD, (params) => run(readWords(params))],
    [COMMANDS_METHOD, () => TESTNET_COMMANDS],
  ])
  const app = createRpcApp({
    dispatcher: createRpcDispatcher({ methods }),
    access: { token, guardsReading: true },
    allowedHosts: ['localhost'],
    maxBodyBytes: MAX_BODY_BYTES,
    timeoutMs: COMMAND_TIMEOUT_MS,
  })
  const server = await serveApp(app, '127.0.0.1', 0, 'commands of the testnet')
  // A killed runner may have left a file with other permissions.
  rmSync(file, { force: true })
  writeFileSync(file, `${JSON.stringify({ url: server.url, token })}\n`, { mode: 0o600 })
  return {
    async close() {
      rmSync(file, { force: true })
      await server.close()
    },
  }
}

function readWords(params: readonly JsonValue[]): string[] {
  return params.map((word) => {
    if (typeof word !== 'string') throw invalidParams('expected the words of a command, each a string')
    return word
  })
}
