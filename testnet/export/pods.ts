import { roles } from '../accounts.ts'
import type { ChainParameters, DataAvailability } from '../chainParameters.ts'
import { anvilArguments } from '../l1/anvil.ts'
import { forkPlan } from '../runner/events.ts'
import { lagoonFiles } from '../runner/lagoonFiles.ts'
import type { NodePorts } from '../runner/ports.ts'
import {
  batchSubmitter,
  geth,
  gethInit,
  type NodeCallOptions,
  type ProgramCall,
  rollupNode,
  sequencerNode,
} from '../runner/programs.ts'

/** A program in a container. */
export interface Container {
  name: string
  image: string
  command: string[]
  env: Record<string, string>
  /** The endpoint of the health check. */
  health?: { port: number; path: string }
}

/** Containers that share an address and `/data`. Other pods reach them by the pod's name. `/chain` holds the chain's files. */
export interface Pod {
  name: string
  init: Container[]
  containers: Container[]
  /** Ports of the RPCs to publish. */
  ports: { eth?: number; rollup?: number }
}

export interface ExportedNode {
  name: string
  peerId: string
  /** Hex. */
  p2pKey: string
}

/** The image of docs/deploy/Dockerfile. */
const DEVIUM_IMAGE = 'devium'
/** Same version as Anvil's npm package. */
const ANVIL_IMAGE = 'ghcr.io/foundry-rs/foundry:v1.7.1'
const L1 = 'l1'
const L1_PORT = 9500
const BATCHER_PORTS = { batcherAdmin: 8548, batcherMetrics: 7301 }
const PORTS: NodePorts = {
  ...{ rollupRpc: 9545, ethRpc: 8545, engineRpc: 8551, metrics: 7300, gethMetrics: 6060, p2p: 9222 },
}
const HOST = '0.0.0.0'

/** All programs of a testnet. The first node is the sequencer. */
export function exportedPods(chain: ChainParameters, nodes: readonly ExportedNode[], da: DataAvailability): Pod[] {
  const pods = nodes.map((node, index) => nodePod(chain, node, nodes.slice(0, index)))
  return [l1Pod(chain), ...pods, batcherPod(chain, nodes[0]?.name ?? '', da)]
}

/** Starts from the exported state, or from the state that it wrote at its last stop. */
function l1Pod(chain: ChainParameters): Pod {
  const args = anvilArguments({
    ...{ host: HOST, port: L1_PORT, chain },
    ...{ loadFrom: '/data/state.json', dumpTo: '/data/new.json', cacheDir: '/data/cache' },
  })
  const script = [
    'if [ -s /data/new.json ]; then mv /data/new.json /data/state.json',
    'elif [ ! -e /data/state.json ]; then cat /l1-state/* | gunzip > /data/state.json; fi',
    'mkdir -p /data/cache',
    `exec anvil ${args.join(' ')}`,
  ].join('\n')
  const container = { name: L1, image: ANVIL_IMAGE, command: ['/bin/sh', '-c', script], env: {} }
  return { name: L1, init: [], containers: [container], ports: { eth: L1_PORT } }
}

function nodePod(chain: ChainParameters, { name, p2pKey }: ExportedNode, earlier: readonly ExportedNode[]): Pod {
  const [sequencer] = earlier
  const lagoon = lagoonFiles(forkPlan(chain), {
    dependencySet: '/chain/dependency-set.json',
    upgradeBundle: '/chain/upgrade-bundle.json',
  })
  const options: NodeCallOptions = {
    files: {
      ...{
        gethDataDir: '/data/geth',
        jwt: '/chain/jwt.txt',
        p2pKey: '/data/p2p-key.txt',
        peerstore: '/data/peerstore',
      },
      ...{ genesis: '/chain/genesis.json', rollupConfig: '/chain/rollup.json', l1Config: '/chain/l1.json', ...lagoon },
    },
    ...{ ports: PORTS, host: HOST, l1Rpc: `http://${L1}:${L1_PORT}`, tokenFile: '/data/rpc-token' },
    staticPeers: earlier.map((other) => `/dns4/${other.name}/tcp/${PORTS.p2p}/p2p/${other.peerId}`),
    peerNames: earlier.map((other) => `${other.name}=${other.peerId}`),
    ...(sequencer === undefined ? {} : { sequencerRpc: `http://${sequencer.name}:${PORTS.ethRpc}` }),
    dashboard: { name, others: [] },
  }
  const { program, args } = geth(options)
  const client = { program, args: [...args, '--http.vhosts=*'] }
  const rollup = sequencer === undefined ? sequencerNode(options, roles.sequencer.privateKey) : rollupNode(options)
  return {
    name,
    init: [container(`${name}-genesis`, gethInit(options.files))],
    containers: [
      { ...container(name, client), health: { port: PORTS.ethRpc, path: '/healthz' } },
      {
        ...container(`${name}-node`, { ...rollup, env: { ...rollup.env, DEVIUM_NODE_P2P_PRIV_RAW: p2pKey } }),
        health: { port: PORTS.rollupRpc, path: '/healthz' },
      },
    ],
    ports: { eth: PORTS.ethRpc, rollup: PORTS.rollupRpc },
  }
}

function batcherPod(chain: ChainParameters, sequencer: string, da: DataAvailability): Pod {
  const call = batchSubmitter(
    { l1: L1_PORT, ...BATCHER_PORTS, nodes: [PORTS] },
    HOST,
    roles.batcher.privateKey,
    { resumed: true, da, hasBrotli: (chain.forks.fjord ?? 1) === 0, cellProofs: false, tokenFile: '/data/rpc-token' },
    { l1: L1, sequencer },
  )
  const health = { port: BATCHER_PORTS.batcherAdmin, path: '/healthz' }
  return { name: 'batcher', init: [], containers: [{ ...container('batcher', call), health }], ports: {} }
}

function container(name: string, { program, args, env = {} }: ProgramCall): Container {
  return { name, image: DEVIUM_IMAGE, command: [program, ...args], env }
}
