import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { roles } from '../../testnet/accounts.ts'
import type { OpGeth } from './opGeth.ts'
import { claimPort, startProgram } from './programs.ts'
import type { RunningTestnet } from './testnet.ts'

/**
 * Starts an op-node, of 2024 or 2026, that follows the testnet's first node and has the sequencer's key. Returns the address of
 * its RPC. Its data is below `directory`.
 */
export async function startOpNode(
  binary: string,
  geth: OpGeth,
  testnet: RunningTestnet,
  directory: string,
  /** The beacon API for blobs. */
  beacon?: string,
): Promise<string> {
  const [rpc, p2p] = [await claimPort(), await claimPort()]
  const rollupPath = join(directory, 'rollup.json')
  const { chain_op_config: chainOpConfig, ...rollup } = JSON.parse(
    readFileSync(join(testnet.joinDir, 'rollup.json'), 'utf8'),
  )
  // op-node of 2024 refuses unknown fields. op-node of 2026 requires this field and the L1's forks.
  const isOf2026 = execFileSync(binary, ['--help'], { encoding: 'utf8' }).includes('--rollup.l1-chain-config')
  writeFileSync(rollupPath, JSON.stringify(isOf2026 ? { ...rollup, chain_op_config: chainOpConfig } : rollup))
  startProgram(binary, [
    `--l1=${testnet.l1.rpc}`,
    beacon === undefined ? '--l1.beacon.ignore' : `--l1.beacon=${beacon}`,
    '--l1.trustrpc',
    '--l1.http-poll-interval=300ms',
    '--l1.epoch-poll-interval=1s',
    '--verifier.l1-confs=0',
    ...(isOf2026 ? [`--rollup.l1-chain-config=${join(testnet.joinDir, 'l1.json')}`] : []),
    `--l2=${geth.engineUrl}`,
    `--l2.jwt-secret=${geth.jwtPath}`,
    `--rollup.config=${rollupPath}`,
    '--rpc.addr=127.0.0.1',
    `--rpc.port=${rpc}`,
    '--rpc.enable-admin',
    '--sequencer.enabled',
    '--sequencer.stopped',
    '--sequencer.l1-confs=0',
    `--p2p.sequencer.key=${roles.sequencer.privateKey}`,
    `--p2p.priv.path=${join(directory, 'p2p-key.txt')}`,
    '--p2p.peerstore.path=memory',
    '--p2p.discovery.path=memory',
    '--p2p.listen.ip=127.0.0.1',
    `--p2p.listen.tcp=${p2p}`,
    '--p2p.no-discovery',
    '--p2p.bootnodes=',
    `--p2p.static=${testnet.nodes[0]?.p2p}`,
  ])
  return `http://127.0.0.1:${rpc}`
}
