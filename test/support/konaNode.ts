import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { OpGeth } from './opGeth.ts'
import { claimPort, startProgram } from './programs.ts'
import type { RunningTestnet } from './testnet.ts'

/** Starts a kona-node without peers, and returns the address of its RPC. Anvil serves the beacon requests of its start. */
export async function startKonaNode(
  binary: string,
  geth: OpGeth,
  testnet: RunningTestnet,
  directory: string,
): Promise<string> {
  const [rpc, p2p] = [await claimPort(), await claimPort()]
  const l1ConfigPath = join(directory, 'l1.json')
  const l1Config = JSON.parse(readFileSync(join(testnet.joinDir, 'l1.json'), 'utf8'))
  // Fields that kona-node also requires.
  const more = { terminalTotalDifficultyPassed: true, depositContractAddress: `0x${'0'.repeat(40)}` }
  writeFileSync(l1ConfigPath, JSON.stringify({ ...l1Config, ...more }))
  startProgram(binary, [
    'node',
    `--l1-eth-rpc=${testnet.l1.rpc}`,
    '--l1-trust-rpc',
    `--l1-beacon=${testnet.l1.rpc}`,
    `--l1-slot-duration-override=${testnet.l1.blockTime}`,
    `--l2-engine-rpc=${geth.engineUrl}`,
    `--l2-engine-jwt-secret=${geth.jwtPath}`,
    `--l2-config-file=${join(testnet.joinDir, 'rollup.json')}`,
    `--l1-config-file=${l1ConfigPath}`,
    '--rpc.addr=127.0.0.1',
    `--port=${rpc}`,
    '--p2p.no-discovery',
    '--p2p.no-bootstore',
    '--p2p.listen.ip=127.0.0.1',
    '--p2p.advertise.ip=127.0.0.1',
    `--p2p.listen.tcp=${p2p}`,
    `--p2p.priv.path=${join(directory, 'p2p-key.txt')}`,
  ])
  return `http://127.0.0.1:${rpc}`
}
