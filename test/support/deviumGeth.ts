import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { geth, gethInit } from '../../testnet/runner/programs.ts'
import { joinedFiles } from './joinedNode.ts'
import type { OpGeth } from './opGeth.ts'
import { startOurs } from './programs.ts'

const SCRIPT = fileURLToPath(new URL('../../bin/devium-geth.mjs', import.meta.url))
const HOST = '127.0.0.1'

/**
 * Starts a separate devium-geth with the genesis of a testnet's join directory, in place of an op-geth. WebSocket uses the RPC
 * port.
 */
export async function startDeviumGeth(joinDir: string, directory: string): Promise<OpGeth> {
  const files = joinedFiles(directory, joinDir)
  execFileSync(process.execPath, [SCRIPT, ...gethInit(files).args], { stdio: 'ignore' })
  const ports = { rollupRpc: 0, ethRpc: 0, engineRpc: 0, metrics: 0, gethMetrics: 0, p2p: 0 }
  const call = geth({ files, ports, host: HOST, l1Rpc: '', staticPeers: [] })
  const { engine = '', http = '' } = await startOurs('devium-geth', call.args)
  return { engineUrl: engine, rpcUrl: http, jwtPath: files.jwt }
}
