import { join } from 'node:path'
import { CONTROL_FILE } from '../../src/cli/operator/testnet/commandTable.ts'
import type { NodeClientChoice } from '../clients/clients.ts'

/** The paths of a testnet under `--dir`. */
export interface TestnetLayout {
  dir: string
  manifest: string
  /** Process id of the runner that uses the directory. */
  lock: string
  joinDir: string
  genesis: string
  rollupConfig: string
  /** L1's forks and blob fee parameters. */
  l1Config: string
  /** Only if the chain has Lagoon or activates it. */
  dependencySet: string
  /** Only if the chain activates Lagoon while it runs. */
  upgradeBundle: string
  joinText: string
  /** Contracts and RPCs, for applications. */
  addresses: string
  /** The state file that Anvil writes at its end and periodically. */
  l1StateNew: string
  /** The state Anvil starts with. */
  l1State: string
  /** States that Anvil moves out of memory. */
  l1Cache: string
  /** Data of a go-ethereum L1. */
  l1DataDir: string
  l1Genesis: string
  l1Jwt: string
  /** Blobs by slot. */
  l1Blobs: string
  /** Copies of all data, by name. Each is also a testnet directory. */
  snapshots: string
  /** The bearer token of all RPCs, if other machines reach them. */
  rpcToken: string
  /** Address and token of the runner, for other processes of this user. */
  control: string
  log(name: string): string
}

export interface NodeLayout {
  name: string
  dir: string
  gethDataDir: string
  /** Empty file. It exists once the genesis block is completely written. */
  initialised: string
  jwt: string
  p2pKey: string
  peerstore: string
}

export function testnetLayout(dir: string): TestnetLayout {
  const joinDir = join(dir, 'join')
  return {
    dir,
    manifest: join(dir, 'testnet.json'),
    lock: join(dir, 'runner.pid'),
    joinDir,
    genesis: join(joinDir, 'genesis.json'),
    rollupConfig: join(joinDir, 'rollup.json'),
    l1Config: join(joinDir, 'l1.json'),
    dependencySet: join(joinDir, 'dependency-set.json'),
    upgradeBundle: join(joinDir, 'upgrade-bundle.json'),
    joinText: join(joinDir, 'join.txt'),
    addresses: join(dir, 'addresses.json'),
    l1StateNew: join(dir, 'l1', 'state.new.json'),
    l1State: join(dir, 'l1', 'state.json'),
    l1Cache: join(dir, 'l1', 'cache'),
    l1DataDir: join(dir, 'l1', 'geth'),
    l1Genesis: join(dir, 'l1', 'genesis.json'),
    l1Jwt: join(dir, 'l1', 'jwt.txt'),
    l1Blobs: join(dir, 'l1', 'blobs'),
    snapshots: join(dir, 'snapshots'),
    rpcToken: join(dir, 'rpc-token.txt'),
    control: join(dir, CONTROL_FILE),
    log: (name) => join(dir, 'logs', `${name}.log`),
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
export function nodeLayout(testnetDir: string, name: string, { rollup, execution }: NodeClientChoice = {}): NodeLayout {
  const dir = join(testnetDir, name)
  return {
    name,
    dir,
    gethDataDir: join(dir, execution?.client ?? 'geth'),
    initialised: join(dir, execution === undefined ? 'initialised' : `${execution.client}.initialised`),
    jwt: join(dir, 'jwt.txt'),
    p2pKey: join(dir, 'p2p-key.txt'),
    peerstore: join(dir, rollup === undefined ? 'peerstore' : `${rollup.client}-peerstore`),
  }
}
