import type { DataAvailability } from '../chainParameters.ts'
import type { NodePorts, TestnetPorts } from './ports.ts'

/** A program by its command name, with its flags. The runner starts it, and the join text prints it. */
export interface ProgramCall {
  program: 'devium-geth' | 'devium--batcher' | 'devium-batch-submitter'
  args: string[]
  /** Secrets. They go through the environment because the process list shows arguments. */
  env?: Record<string, string>
}

// Names of processes and of their logs.
export const BATCHER_PROGRAM = 'batcher'
export const gethProgram = (node: string): string => `${node}-geth`
export const nodeProgram = (node: string): string => `${node}-node`

export interface NodeFiles {
  gethDataDir: string
  jwt: string
  p2pKey: string
  peerstore: string
  genesis: string
  rollupConfig: string
  l1Config: string
  dependencySet?: string
  upgradeBundle?: string
}

export interface NodeCallOptions {
  files: NodeFiles
  ports: NodePorts
  host: string
  l1Rpc: string
  /** Absent if L1 serves its blobs itself. */
  l1Beacon?: string
  /** Multiaddresses of static peers. */
  staticPeers: readonly string[]
  /** The address that the node announces to peers, in place of its listen address. */
  door?: { ip: string; port: number }
  /** Names of other nodes: `name=<peer id>`. */
  peerNames?: readonly string[]
  /** `enode:` URLs of bootnodes. Absent: discovery is off. */
  bootnodes?: readonly string[]
  /** Maximum number of peers, if above the default. */
  maxPeers?: number
  /** The RPC to which transactions are forwarded. Absent for the sequencer. */
  sequencerRpc?: string
  /** File with the bearer token of its RPC and the batch submitter's. Absent if only this machine reaches them. */
  tokenFile?: string | undefined
  /** Content of its page. Absent if the node has no page. */
  dashboard?: DashboardCall
}

export interface DashboardCall {
  /** Name of the node on the page. */
  name: string
  /** Other nodes that the page shows. */
  others: readonly { name: string; rollupRpc: string }[]
  /** Absent if the page cannot reach it. */
  batcherRpc?: string
  /** Directory of the testnet, whose runner accepts commands from the page. */
  testnetDir?: string
}

/** The host for URLs, also if a program listens on all addresses. */
export function reachableHost(host: string): string {
  return host === '0.0.0.0' ? '127.0.0.1' : host
}

/** Writes the genesis block into a new data directory, once for each node. */
export function gethInit({ gethDataDir, genesis }: Pick<NodeFiles, 'gethDataDir' | 'genesis'>): ProgramCall {
  return { program: 'devium-geth', args: ['init', `--datadir=${gethDataDir}`, genesis] }
}

/** Origins of pages that dapp development servers serve. */
const LOCAL_PAGES = 'http://localhost:*,http://127.0.0.1:*,https://localhost:*'

export const ETH_API = 'eth,net,web3,debug,txpool'

/** Common flags of devium-geth, op-geth and op-reth: WebSocket on the HTTP port, and the Engine API. */
export function executionFlags({ files, ports, host }: NodeCallOptions): string[] {
  return [
    `--datadir=${files.gethDataDir}`,
    '--http',
    `--http.addr=${host}`,
    `--http.port=${ports.ethRpc}`,
    '--ws',
    `--ws.addr=${host}`,
    `--ws.port=${ports.ethRpc}`,
    `--ws.api=${ETH_API}`,
    '--authrpc.addr=127.0.0.1',
    `--authrpc.port=${ports.engineRpc}`,
    `--authrpc.jwtsecret=${files.jwt}`,
  ]
}

/** More common flags of devium-geth and op-geth. */
export function gethFlags(options: NodeCallOptions): string[] {
  const { ports, host, sequencerRpc } = options
  return [
    ...executionFlags(options),
    // `miner` is for the batch submitter, which throttles the sequencer's blocks when unposted data grows. Other clients get no
    // access.
    `--http.api=${ETH_API}${sequencerRpc === undefined && host === '127.0.0.1' ? ',miner' : ''}`,
    '--metrics',
    `--metrics.addr=${host}`,
    `--metrics.port=${ports.gethMetrics}`,
    ...(sequencerRpc === undefined ? [] : [`--rollup.sequencerhttp=${sequencerRpc}`]),
  ]
}

export function geth(options: NodeCallOptions): ProgramCall {
  // The default allows WebSocket connections from local pages.
  return { program: 'devium-geth', args: [...gethFlags(options), `--http.corsdomain=${LOCAL_PAGES}`] }
}

/** Default of `--p2p.peers.hi`. */
const DEFAULT_MAX_PEERS = 30

/** Flags that our rollup node shares with op-node. */
export function opNodeFlags({ files, ports, host, l1Rpc, l1Beacon, staticPeers }: NodeCallOptions): string[] {
  return [
    `--l1=${l1Rpc}`,
    `--l1.beacon=${l1Beacon ?? l1Rpc}`,
    // Anvil serves its blobs but not its version, and op-node does not start without the version.
    ...(l1Beacon === undefined ? ['--l1.beacon.ignore'] : []),
    // The defaults (12 s, 6.4 min, 10 min) fit Ethereum's block time, which is longer than a testnet's.
    '--l1.http-poll-interval=500ms',
    '--l1.epoch-poll-interval=2s',
    '--l1.runtime-config-reload-interval=10s',
    '--verifier.l1-confs=0',
    `--l2=http://127.0.0.1:${ports.engineRpc}`,
    `--l2.jwt-secret=${files.jwt}`,
    `--rollup.config=${files.rollupConfig}`,
    `--rollup.l1-chain-config=${files.l1Config}`,
    ...(files.dependencySet === undefined ? [] : [`--interop.dependency-set=${files.dependencySet}`]),
    `--rpc.addr=${host}`,
    `--rpc.port=${ports.rollupRpc}`,
    '--rpc.enable-admin',
    '--metrics.enabled',
    `--metrics.addr=${host}`,
    `--metrics.port=${ports.metrics}`,
    `--p2p.priv.path=${files.p2pKey}`,
    `--p2p.peerstore.path=${files.peerstore}`,
    ...(staticPeers.length === 0 ? [] : [`--p2p.static=${staticPeers.join(',')}`]),
  ]
}

export function rollupNode(options: NodeCallOptions): ProgramCall {
  const { files, ports, host, door, bootnodes, dashboard, tokenFile, peerNames = [], maxPeers = 0 } = options
  return {
    program: 'devium--batcher',
    args: [
      ...opNodeFlags(options),
      ...(files.upgradeBundle === undefined ? [] : [`--rollup.upgrade-bundle=${files.upgradeBundle}`]),
      // The first node's page calls all nodes, from any host name. The token protects them.
      ...(tokenFile === undefined ? [] : [`--rpc.token-file=${tokenFile}`, '--rpc.corsdomain=*']),
      ...(dashboard === undefined ? [] : dashboardFlags(dashboard)),
      ...(dashboard?.batcherRpc === undefined || tokenFile === undefined
        ? []
        : [`--dashboard.batcher-token-file=${tokenFile}`]),
      `--p2p.listen.ip=${host}`,
      `--p2p.listen.tcp=${ports.p2p}`,
      ...(door === undefined ? [] : [`--p2p.advertise.ip=${door.ip}`, `--p2p.advertise.tcp=${door.port}`]),
      ...(bootnodes === undefined ? ['--p2p.no-discovery'] : discoveryFlags(ports, bootnodes)),
      ...(maxPeers <= DEFAULT_MAX_PEERS ? [] : [`--p2p.peers.hi=${maxPeers}`]),
      ...(peerNames.length === 0 ? [] : [`--p2p.names=${peerNames.join(',')}`]),
    ],
  }
}

function discoveryFlags({ p2p }: NodePorts, bootnodes: readonly string[]): string[] {
  return [
    `--p2p.listen.udp=${p2p}`,
    // All nodes start together, with possibly new ports. Records of the last run are therefore useless.
    '--p2p.discovery.path=memory',
    ...(bootnodes.length === 0 ? [] : [`--p2p.bootnodes=${bootnodes.join(',')}`]),
  ]
}

function dashboardFlags({ name, others, batcherRpc, testnetDir }: DashboardCall): string[] {
  const nodes = others.map((other) => `${other.name}=${other.rollupRpc}`)
  return [
    '--dashboard',
    `--dashboard.name=${name}`,
    ...(batcherRpc === undefined ? [] : [`--dashboard.batcher=${batcherRpc}`]),
    ...(nodes.length === 0 ? [] : [`--dashboard.nodes=${nodes.join(',')}`]),
    ...(testnetDir === undefined ? [] : [`--dashboard.testnet=${testnetDir}`]),
  ]
}

/** The rollup node of the sequencer, which signs gossiped blocks with `signerKey`. */
export function sequencerNode(options: NodeCallOptions, signerKey: string): ProgramCall {
  const { program, args } = rollupNode(options)
  return {
    program,
    args: [...args, '--sequencer.enabled', '--sequencer.l1-confs=0'],
    env: { DEVIUM_NODE_P2P_SEQUENCER_KEY: signerKey },
  }
}

export function batchSubmitter(
  ports: Pick<TestnetPorts, 'l1' | 'batcherAdmin' | 'batcherMetrics' | 'nodes'>,
  host: string,
  batcherKey: string,
  options: {
    resumed: boolean
    da: DataAvailability
    hasBrotli: boolean
    /** L1 has Osaka at genesis, so blobs need cell proofs. */
    cellProofs: boolean
    tokenFile: string | undefined
  },
  /** Hosts of L1 and the sequencer. Absent: this machine. */
  hosts?: { l1: string; sequencer: string },
): ProgramCall {
  const [sequencer] = ports.nodes
  if (sequencer === undefined) throw new RangeError('a batch submitter needs a sequencer')
  const { resumed, da, hasBrotli, cellProofs, tokenFile } = options
  const to = hosts ?? { l1: reachableHost(host), sequencer: reachableHost(host) }
  return {
    program: 'devium-batch-submitter',
    args: [
      `--l1-eth-rpc=http://${to.l1}:${ports.l1}`,
      `--l2-eth-rpc=http://${to.sequencer}:${sequencer.ethRpc}`,
      `--rollup-rpc=http://${to.sequencer}:${sequencer.rollupRpc}`,
      // A channel lasts one L1 block, so batches are on L1 within seconds.
      '--max-channel-duration=1',
      '--poll-interval=500ms',
      '--num-confirmations=1',
      '--txmgr.rebroadcast-interval=2s',
      // The batches on L1 are derived first. Otherwise the submitter posts them again.
      ...(resumed ? ['--wait-node-sync'] : []),
      '--sub-safety-margin=4',
      '--batch-type=1',
      // Brotli came with Fjord.
      `--compression-algo=${hasBrotli ? 'brotli' : 'zlib'}`,
      `--data-availability-type=${da}`,
      ...(cellProofs ? ['--txmgr.cell-proof-time=0'] : []),
      // Channels wait while KZG loads for the first blob. With one transaction at a time the submitter would never catch up.
      ...(da === 'calldata' ? [] : ['--max-pending-tx=4']),
      `--rpc.addr=${host}`,
      `--rpc.port=${ports.batcherAdmin}`,
      '--rpc.enable-admin',
      ...(tokenFile === undefined ? [] : [`--rpc.token-file=${tokenFile}`]),
      '--metrics.enabled',
      `--metrics.addr=${host}`,
      `--metrics.port=${ports.batcherMetrics}`,
    ],
    env: { DEVIUM_BATCH_SUBMITTER_PRIVATE_KEY: batcherKey },
  }
}
