import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findFreePorts } from '../../testnet/runner/ports.ts'
import { geth, gethInit } from '../../testnet/runner/programs.ts'
import type { OpGeth } from './opGeth.ts'
import { startProgram } from './programs.ts'

const SCRIPT = fileURLToPath(new URL('../../bin/devium-geth.mjs', import.meta.url))
const HOST = '127.0.0.1'

/**
 * Starts a devium-geth of its own with the genesis of a testnet's join directory, in the place of an op-geth. `webSockets`: on the
 * port of its RPC.
 */
export async function startDeviumGeth(joinDir: string, directory: string, webSockets = false): Promise<OpGeth> {
  const [ports] = (await findFreePorts(1, HOST)).nodes
  if (ports === undefined) throw new RangeError('no ports')
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
  const call = geth({ files, ports, host: HOST, l1Rpc: '', staticPeers: [] })
  const further = webSockets ? ['--ws', `--ws.addr=${HOST}`, `--ws.port=${ports.ethRpc}`] : []
  startProgram(process.execPath, [SCRIPT, ...call.args, ...further])
  return {
    engineUrl: `http://${HOST}:${ports.engineRpc}`,
    rpcUrl: `http://${HOST}:${ports.ethRpc}`,
    jwtPath: files.jwt,
  }
}
