import { loadToken } from '../../src/jsonRpc/bearerToken.ts'
import { isLoopback } from '../../src/jsonRpc/hostCheck.ts'
import { loadJwtSecret, loadSecret } from '../../src/lib/jwt.ts'
import { devAccounts, roles } from '../accounts.ts'
import type { ChainParameters, DataAvailability } from '../chainParameters.ts'
import { type ClientChoice, namesOf as clientNamesOf, clientsOf, type NodeClientChoice } from '../clients/clients.ts'
import { l1Addresses } from '../l1/contracts.ts'
import type { L1Client } from '../l1/l1Client.ts'
import { PeerLinks } from '../links/peerLinks.ts'
import { neighboursAmong, type Topology } from '../topology.ts'
import { type Endpoints, forkPlan, type NodeEndpoints } from './events.ts'
import { enodeOf, peerIdOf } from './identity.ts'
import { lanAddress } from './joinText.ts'
import { lagoonFiles } from './lagoonFiles.ts'
import { type NodeLayout, nodeLayout, nodeName, type TestnetLayout } from './layout.ts'
import type { NodePorts, TestnetPorts } from './ports.ts'
import { type NodeCallOptions, reachableHost } from './programs.ts'

export interface TestnetSetup {
  layout: TestnetLayout
  ports: TestnetPorts
  host: string
  chain: ChainParameters
  l1Client: L1Client
  /** The third-party programs of chosen nodes. */
  clients: readonly ClientChoice[]
  /** How the batch submitter posts. */
  da: DataAvailability
  topology?: Topology
  /** The bearer token for RPC methods that change something. */
  token: { file: string; value: string } | undefined
  /** The checked path of `--upgrade-bundle`. */
  upgradeBundle?: string | undefined
  /** The chain was made by an earlier start. */
  resumed: boolean
}

/** The plan of a node, before its programs run. */
export interface NodeDescription {
  layout: NodeLayout
  clients: NodeClientChoice
  ports: NodePorts
  call: NodeCallOptions
  peerId: string
  /** Multiaddress with the peer id. */
  p2p: string
  /** The enode for discovery. */
  enode: string
}

/** The ports of the proxies between nodes. */
export interface NodeLinks {
  /** The port at which nodes found by discovery are dialed. */
  doorPort(name: string): number
  /** The port that forwards transactions to the sequencer. */
  entrancePort: number
  /** The port by which the later node dials the earlier. */
  pairPort(earlier: string, later: string): number
}

/** Plans all nodes. Creates missing p2p keys and JWT secrets, because the nodes' flags contain peer ids. */
export function describeNodes(setup: TestnetSetup, links: NodeLinks): NodeDescription[] {
  const described: NodeDescription[] = []
  for (const [index, nodePorts] of setup.ports.nodes.entries()) {
    described.push(describeNode(setup, links, { earlier: described, name: nodeName(index), ports: nodePorts }))
  }
  const peerNames = namesOf(described)
  return described.map((node) => ({ ...node, call: { ...node.call, peerNames } }))
}

function namesOf(nodes: readonly NodeDescription[]): string[] {
  return nodes.map(
    ({ layout, clients, peerId }) => `${[layout.name, clients.rollup?.client].filter(Boolean).join('.')}=${peerId}`,
  )
}

export function describeNode(
  { layout, ports, host, chain, clients: choices, token, topology }: TestnetSetup,
  links: NodeLinks,
  own: { earlier: readonly NodeDescription[]; name: string; ports: NodePorts },
): NodeDescription {
  const to = reachableHost(host)
  const { genesis, rollupConfig, l1Config } = layout
  const [sequencer] = own.earlier
  // The first node's page shows all nodes that serve the devium methods, by its own host name.
  const verifiers = ports.nodes
    .map(({ rollupRpc }, index) => ({ name: nodeName(index), rollupRpc: `http://${host}:${rollupRpc}` }))
    .slice(1)
    .filter(({ name }) => clientsOf(choices, name).rollup === undefined)
  const clients = clientsOf(choices, own.name)
  const node = nodeLayout(layout.dir, own.name, clients)
  loadJwtSecret(node.jwt, { create: true })
  const key = loadSecret(node.p2pKey, { create: true, what: 'p2p key file' })
  const peerId = peerIdOf(key)
  const call: NodeCallOptions = {
    files: { ...node, genesis, rollupConfig, l1Config, ...lagoonFiles(forkPlan(chain), layout) },
    ports: own.ports,
    host,
    l1Rpc: `http://${to}:${ports.l1}`,
    l1Beacon: `http://${to}:${ports.beacon}`,
    staticPeers: neighboursAmong(own.earlier, topology).map((other) => {
      const port = links.pairPort(other.layout.name, own.name)
      return `/ip4/${to}/tcp/${port}/p2p/${other.peerId}`
    }),
    peerNames: namesOf(own.earlier),
    door: { ip: to, port: links.doorPort(own.name) },
    // A topology turns discovery off, which would add links. The sequencer needs no bootnode.
    ...(topology === undefined ? { bootnodes: sequencer === undefined ? [] : [sequencer.enode] } : {}),
    // A node that all others dial must keep all its peers.
    maxPeers: topology === undefined ? 0 : ports.nodes.length,
    sequencerRpc: `http://${to}:${links.entrancePort}`,
    tokenFile: token?.file,
    dashboard: {
      name: own.name,
      others: sequencer === undefined ? verifiers : [],
      batcherRpc: `http://${to}:${ports.batcherAdmin}`,
      testnetDir: layout.dir,
    },
  }
  const p2p = `/ip4/${to}/tcp/${own.ports.p2p}/p2p/${peerId}`
  return { layout: node, clients, ports: own.ports, call, peerId, p2p, enode: enodeOf(key, to, own.ports.p2p) }
}

/** Opens the proxies before the nodes are planned, because each node's flags contain the ports of its links. */
export async function openLinks({
  ports,
  host,
  topology,
}: Pick<TestnetSetup, 'ports' | 'host' | 'topology'>): Promise<PeerLinks> {
  const nodes = ports.nodes.map(({ p2p, ethRpc }, index) => ({ name: nodeName(index), port: p2p, ethPort: ethRpc }))
  const links = await PeerLinks.open(nodes, reachableHost(host))
  for (const [index, { name }] of nodes.entries()) {
    for (const other of neighboursAmong(nodes.slice(0, index), topology)) await links.openPair(other.name, name)
  }
  return links
}

/** Reads or creates the token. Undefined if only this machine reaches the RPCs. */
export function openToken({ rpcToken: file }: TestnetLayout, host: string): TestnetSetup['token'] {
  return isLoopback(host) ? undefined : { file, value: loadToken(file, { create: true }) }
}

/** The URLs, files and accounts of the testnet. */
export function describeEndpoints(setup: TestnetSetup, nodes: readonly NodeDescription[]): Endpoints {
  const { layout, ports, host, chain, token } = setup
  const url = (port: number) => `http://${reachableHost(host)}:${port}`
  return {
    dashboard: `${url(ports.nodes[0]?.rollupRpc ?? 0)}/dashboard`,
    tokenFile: token?.file,
    dir: layout.dir,
    l1: {
      rpc: url(ports.l1),
      beacon: url(ports.beacon),
      chainId: chain.l1ChainId,
      blockTime: chain.l1BlockTime,
      contracts: l1Addresses(roles.owner.address),
    },
    l2: {
      chainId: chain.l2ChainId,
      blockTime: chain.blockTime,
      genesisTime: chain.genesisTime,
      forks: forkPlan(chain),
    },
    nodes: nodes.map((node) => nodeEndpoints(host, node)),
    batcher: {
      adminRpc: url(ports.batcherAdmin),
      metrics: `${url(ports.batcherMetrics)}/metrics`,
      address: roles.batcher.address,
    },
    accounts: devAccounts,
    addressesFile: layout.addresses,
    // The address for other machines, if they can reach it.
    joinUrl: host === '0.0.0.0' ? `http://${lanAddress() ?? '127.0.0.1'}:${ports.join}` : url(ports.join),
    joinDir: layout.joinDir,
  }
}

export function nodeEndpoints(host: string, { layout, clients, ports, p2p, peerId }: NodeDescription): NodeEndpoints {
  const url = (port: number) => `http://${reachableHost(host)}:${port}`
  return {
    name: layout.name,
    clients: clientNamesOf(clients),
    rollupRpc: url(ports.rollupRpc),
    ethRpc: url(ports.ethRpc),
    ethWs: url(ports.ethRpc).replace('http', 'ws'),
    engineRpc: `http://127.0.0.1:${ports.engineRpc}`,
    metrics: `${url(ports.metrics)}/metrics`,
    gethMetrics: `${url(ports.gethMetrics)}/metrics`,
    p2p,
    peerId,
    jwt: layout.jwt,
  }
}
