import { join } from 'node:path'
import { CONTROL_FILE } from '../../src/cli/operator/testnet/commandTable.ts'
import type { NodeClientChoice } from '../clients/clients.ts'

/** The paths of a testnet under `--dir`. */
export type TestnetLayout = ReturnType<typeof testnetLayout>
export type NodeLayout = ReturnType<typeof nodeLayout>

export function testnetLayout(dir: string) {
  const joinDir = join(dir, 'join')
  return {
    dir,
    manifest: join(dir, 'testnet.json'),
    /** Process id and start of the runner that uses the directory. */
    lock: join(dir, 'runner.pid'),
    joinDir,
    genesis: join(joinDir, 'genesis.json'),
    rollupConfig: join(joinDir, 'rollup.json'),
    /** L1's forks and blob fee parameters. */
    l1Config: join(joinDir, 'l1.json'),
    /** Only if the chain has Lagoon or activates it. */
    dependencySet: join(joinDir, 'dependency-set.json'),
    /** Only if the chain activates Lagoon while it runs. */
    upgradeBundle: join(joinDir, 'upgrade-bundle.json'),
    joinText: join(joinDir, 'join.txt'),
    /** Contracts and RPCs, for applications. */
    addresses: join(dir, 'addresses.json'),
    /** The state file that Anvil writes at its end and periodically. */
    l1StateNew: join(dir, 'l1', 'state.new.json'),
    /** The state Anvil starts with. */
    l1State: join(dir, 'l1', 'state.json'),
    /** States that Anvil moves out of memory. */
    l1Cache: join(dir, 'l1', 'cache'),
    /** Data of a go-ethereum L1. */
    l1DataDir: join(dir, 'l1', 'geth'),
    l1Genesis: join(dir, 'l1', 'genesis.json'),
    l1Jwt: join(dir, 'l1', 'jwt.txt'),
    /** Blobs by slot. */
    l1Blobs: join(dir, 'l1', 'blobs'),
    /** Copies of all data, by name. Each is also a testnet directory. */
    snapshots: join(dir, 'snapshots'),
    /** The bearer token of all RPCs, if other machines reach them. */
    rpcToken: join(dir, 'rpc-token.txt'),
    /** Address and token of the runner, for other processes of this user. */
    control: join(dir, CONTROL_FILE),
    log: (name: string): string => join(dir, 'logs', `${name}.log`),
  }
}

export const NODE_NAME_PATTERN = /^(sequencer|verifier\d+)$/

/** The first node is the sequencer. */
export function nodeName(index: number): string {
  return index === 0 ? 'sequencer' : `verifier${index}`
}

export function nodeNames(count: number): string[] {
  return Array.from({ length: count }, (_, index) => nodeName(index))
}

/** The paths of a node. Third-party programs have their own data directories, because their formats differ. */
export function nodeLayout(testnetDir: string, name: string, { rollup, execution }: NodeClientChoice = {}) {
  const dir = join(testnetDir, name)
  return {
    name,
    dir,
    gethDataDir: join(dir, execution?.client ?? 'geth'),
    /** Empty file. It exists once the genesis block is completely written. */
    initialised: join(dir, execution === undefined ? 'initialised' : `${execution.client}.initialised`),
    jwt: join(dir, 'jwt.txt'),
    p2pKey: join(dir, 'p2p-key.txt'),
    peerstore: join(dir, rollup === undefined ? 'peerstore' : `${rollup.client}-peerstore`),
  }
}
