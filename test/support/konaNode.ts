import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { KONA_FIELDS, konaL1Config } from '../../testnet/clients/l1Config.ts'
import { konaNode } from '../../testnet/clients/rollupClients.ts'
import { claimPorts } from '../../testnet/runner/ports.ts'
import { joinedFiles } from './joinedNode.ts'
import type { OpGeth } from './opGeth.ts'
import { startProgram } from './programs.ts'
import type { RunningTestnet } from './testnet.ts'

/** Starts a kona-node without peers, and returns the address of its RPC. Anvil serves the beacon requests of its start. */
export async function startKonaNode(
  binary: string,
  geth: OpGeth,
  { joinDir, l1 }: RunningTestnet,
  directory: string,
): Promise<string> {
  const host = '127.0.0.1'
  const [ports] = (await claimPorts(1, host)).nodes
  if (ports === undefined) throw new RangeError('no ports')
  const files = { ...joinedFiles(join(directory, 'kona'), joinDir), jwt: geth.jwtPath }
  const l1Config = JSON.parse(readFileSync(files.l1Config, 'utf8'))
  writeFileSync(konaL1Config(files), JSON.stringify({ ...l1Config, ...KONA_FIELDS }))
  const options = {
    ...{ files, host, l1Rpc: l1.rpc, staticPeers: [], door: { ip: host, port: ports.p2p } },
    ports: { ...ports, engineRpc: Number(new URL(geth.engineUrl).port) },
  }
  startProgram(binary, konaNode(binary, options, { l1BlockTime: l1.blockTime }).args)
  return `http://${host}:${ports.rollupRpc}`
}
