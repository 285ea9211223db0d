import type { DataAvailability } from '../chainParameters.ts'
import type { NodePorts, TestnetPorts } from './ports.ts'

/** A program by its command name, with its flags: what the runner starts, and what the join text tells to type. */
export interface ProgramCall {
  program: 'devium-geth' | 'devium--batcher' | 'devium-batch-submitter'
  args: string[]
  /** Secrets that go through the environment. */
  env?: Record<string, string>
}

// Names of processes, by which their logs are named too.
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
  /** Address that everything of the node listens on. */
  host: string
  l1Rpc: string
  /** Absent: L1 serves its blobs itself. */
  l1Beacon?: string
  /** Multiaddresses of nodes to stay connected with. */
  staticPeers: readonly string[]
  /** What peers are told of where the node is, in place of what it listens on. */
  door?: { ip: string; port: number }
  /** What other nodes are called: `name=<peer id>`. */
  peerNames?: readonly string[]
  /** `enode:` of nodes that others are found by; absent: nobody is looked for. */
  bootnodes?: readonly string[]
  /** Peers that the node keeps, where those are more than by default. */
  maxPeers?: number
  /** Where transactions are sent on to; absent for the sequencer. */
  sequencerRpc?: string
  /** File with the bearer token of its RPC and the batch submitter's; absent: only this machine reaches them. */
  tokenFile?: string | undefined
  /** What its page shows; absent: it has none. */
  dashboard?: DashboardCall
}

export interface DashboardCall {
  /** What the page calls the node. */
  name: string
  /** Shown beside it. */
  others: readonly { name: string; rollupRpc: string }[]
  /** Absent: it is out of reach. */
  batcherRpc?: string
  /** Whose runner takes commands from the page. */
  testnetDir?: string
}

/** For URLs: what to connect to when a program listens on all addresses. */
export function reachableHost(host: string): string {
  return host === '0.0.0.0' ? '127.0.0.1' : host
}

/** Writes the genesis block into a new data directory; once for each node. */
export function gethInit({ gethDataDir, genesis }: Pick<NodeFiles, 'gethDataDir' | 'genesis'>): ProgramCall {
  return { program: 'devium-geth', args: ['init', `--datadir=${gethDataDir}`, genesis] }
}

/** Where a dapp's development server may have its page. */
const LOCAL_PAGES = 'http://localhost:*,http://127.0.0.1:*,https://localhost:*'

export const ETH_API = 'eth,net,web3,debug,txpool'

/** Flags that devium-geth, op-geth and op-reth share: WebSockets on the port of HTTP, and the Engine API. */
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

/** Flags that devium-geth and op-geth share beside those. */
export function gethFlags(options: NodeCallOptions): string[] {
  const { ports, host, sequencerRpc } = options
  return [
    ...executionFlags(options),
    // The batch submitter limits the sequencer's blocks when data pile up; that is for nobody else.
    `--http.api=${ETH_API}${sequencerRpc === undefined && host === '127.0.0.1' ? ',miner' : ''}`,
    '--metrics',
    `--metrics.addr=${host}`,
    `--metrics.port=${ports.gethMetrics}`,
    ...(sequencerRpc === undefined ? [] : [`--rollup.sequencerhttp=${sequencerRpc}`]),
  ]
}

export function geth(options: NodeCallOptions): ProgramCall {
  // Pages of this machine may connect by WebSocket without a flag.
  return { program: 'devium-geth', args: [...gethFlags(options), `--http.corsdomain=${LOCAL_PAGES}`] }
}

/** Of `--p2p.peers.hi`. */
const DEFAULT_MAX_PEERS = 30

/** Flags that the rollup node shares with op-node. */
export function opNodeFlags({ files, ports, host, l1Rpc, l1Beacon, staticPeers }: NodeCallOptions): string[] {
  return [
    `--l1=${l1Rpc}`,
    `--l1.beacon=${l1Beacon ?? l1Rpc}`,
    // Anvil answers for its own blobs, but not which version it is, without which op-node would not start.
    ...(l1Beacon === undefined ? ['--l1.beacon.ignore'] : []),
    // The defaults (12 s, 6.4 min, 10 min) suit Ethereum's block time, not a testnet's.
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
      // The first node's page asks all of them, and nobody knows by which host it will come; the token is what guards them.
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
    // All nodes start together: what the last run knew is found anew, and its ports may have been others.
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

/** The rollup node that makes the blocks, and signs what it gossips with `signerKey`. */
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
    /** L1 has Osaka from its genesis block on. */
    cellProofs: boolean
    tokenFile: string | undefined
  },
  /** Where it finds L1 and the sequencer; absent: on this machine. */
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
      // Batches land on L1 within seconds: a channel lasts one L1 block.
      '--max-channel-duration=1',
      '--poll-interval=500ms',
      '--num-confirmations=1',
      '--txmgr.rebroadcast-interval=2s',
      // What L1 holds already is derived first, or it would be posted again.
      ...(resumed ? ['--wait-node-sync'] : []),
      '--sub-safety-margin=4',
      '--batch-type=1',
      // Brotli came with Fjord.
      `--compression-algo=${hasBrotli ? 'brotli' : 'zlib'}`,
      `--data-availability-type=${da}`,
      ...(cellProofs ? ['--txmgr.cell-proof-time=0'] : []),
      // Channels wait while KZG is loaded for the first blob; one at a time, they would never be made up for.
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
