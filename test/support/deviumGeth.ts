import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { geth, gethInit } from '../../testnet/runner/programs.ts'
import type { OpGeth } from './opGeth.ts'
import { startOurs } from './programs.ts'

const SCRIPT = fileURLToPath(new URL('../../bin/devium-geth.mjs', import.meta.url))
const HOST = '127.0.0.1'

/**
 * Starts a separate devium-geth with the genesis of a testnet's join directory, in place of an op-geth. WebSocket uses the RPC
 * port.
 */
export async function startDeviumGeth(joinDir: string, directory: string): Promise<OpGeth> {
  const file = (name: string) => join(directory, name)
  const files = {
    gethDataDir: file('geth'),
    jwt: file('jwt.txt'),
    p2pKey: file('p2p-key.txt'),
    peerstore: file('peerstore'),
    genesis: join(joinDir, 'genesis.json'),
    rollupConfig: join(joinDir, 'rollup.json'),
    l1Config: join(joinDir, 'l1.json'),
  }
  mkdirSync(files.gethDataDir, { recursive: true })
  writeFileSync(files.jwt, randomBytes(32).toString('hex'))
  execFileSync(process.execPath, [SCRIPT, ...gethInit(files).args], { stdio: 'ignore' })
  const ports = { rollupRpc: 0, ethRpc: 0, engineRpc: 0, metrics: 0, gethMetrics: 0, p2p: 0 }
  const call = geth({ files, ports, host: HOST, l1Rpc: '', staticPeers: [] })
  const { engine = '', http = '' } = await startOurs('devium-geth', call.args)
  return { engineUrl: engine, rpcUrl: http, jwtPath: files.jwt }
}
