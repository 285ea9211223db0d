import { loadToken } from '../../src/jsonRpc/bearerToken.ts'
import { isLoopback } from '../../src/jsonRpc/hostCheck.ts'
import { loadJwtSecret, loadSecret } from '../../src/lib/jwt.ts'
import { devAccounts, roles } from '../accounts.ts'
import type { ChainParameters, DataAvailability } from '../chainParameters.ts'
import { l1Addresses } from '../l1/contracts.ts'
import type { L1Client } from '../l1/l1Client.ts'
import { PeerLinks } from '../links/peerLinks.ts'
import { type Endpoints, forkPlan } from './events.ts'
import { enodeOf, peerIdOf } from './identity.ts'
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
  /** Where the batch submitter posts. */
  da: DataAvailability
  /** Whoever shows it may change something by RPC. */
  token: { file: string; value: string } | undefined
  /** Checked, where it is given: `--upgrade-bundle`. */
  upgradeBundle?: string | undefined
  /** The chain was made by an earlier start. */
  resumed: boolean
}

/** One node before anything of it runs. */
export interface NodeDescription {
  layout: NodeLayout
  ports: NodePorts
  call: NodeCallOptions
  peerId: string
  /** Multiaddress with the peer id. */
  p2p: string
}

/** The ports of the ways on which nodes reach each other. */
export interface NodeLinks {
  /** Where others dial a node that they found by discovery. */
  doorPort(name: string): number
  /** Where the later of two nodes dials the earlier. */
  pairPort(earlier: string, later: string): number
}

/** Plans all nodes. Makes their p2p keys and jwt secrets where they are missing, since others must know the peer ids. */
export function describeNodes(
  { layout, ports, host, chain, token }: TestnetSetup,
  links: NodeLinks,
): NodeDescription[] {
  const to = reachableHost(host)
  const { genesis, rollupConfig, l1Config } = layout
  const chainFiles = { genesis, rollupConfig, l1Config }
  const sequencerRpc = `http://${to}:${ports.nodes[0]?.ethRpc}`
  // The first node's page shows all of them, to whoever it shows itself.
  const verifiers = ports.nodes.slice(1).map(({ rollupRpc }, index) => ({
    name: nodeName(index + 1),
    rollupRpc: `http://${host}:${rollupRpc}`,
  }))
  const peerIds: string[] = []
  const bootnodes: string[] = []
  return ports.nodes.map((nodePorts, index) => {
    const node = nodeLayout(layout.dir, nodeName(index))
    loadJwtSecret(node.jwt, { create: true })
    const key = loadSecret(node.p2pKey, { create: true, what: 'p2p key file' })
    const peerId = peerIdOf(key)
    const p2p = `/ip4/${to}/tcp/${nodePorts.p2p}/p2p/${peerId}`
    const call: NodeCallOptions = {
      files: { ...node, ...chainFiles, ...lagoonFiles(forkPlan(chain), layout) },
      ports: nodePorts,
      host,
      l1Rpc: `http://${to}:${ports.l1}`,
      ...(ports.consensus === undefined ? {} : { l1Beacon: `http://${to}:${ports.consensus.beacon}` }),
      staticPeers: neighboursOf(index).map((other) => {
        const port = links.pairPort(nodeName(other), node.name)
        return `/ip4/${to}/tcp/${port}/p2p/${peerIds[other]}`
      }),
      door: { ip: to, port: links.doorPort(node.name) },
      bootnodes: [...bootnodes],
      ...(index === 0 ? {} : { sequencerRpc }),
      tokenFile: token?.file,
      dashboard: {
        name: node.name,
        others: index === 0 ? verifiers : [],
        batcherRpc: `http://${to}:${ports.batcherAdmin}`,
      },
    }
    peerIds.push(peerId)
    // The sequencer is found without one.
    if (index === 0) bootnodes.push(enodeOf(key, to, nodePorts.p2p))
    return { layout: node, ports: nodePorts, call, peerId, p2p }
  })
}

/** Before the nodes are described: each is told the ports of its links. */
export async function openLinks({ ports, host }: Pick<TestnetSetup, 'ports' | 'host'>): Promise<PeerLinks> {
  const nodes = ports.nodes.map(({ p2p }, index) => ({ name: nodeName(index), port: p2p }))
  const links = await PeerLinks.open(nodes, reachableHost(host))
  for (const [index, { name }] of nodes.entries()) {
    for (const other of neighboursOf(index)) await links.openPair(nodeName(other), name)
  }
  return links
}

/** Made where it is missing. Undefined where nobody but this machine reaches the RPCs. */
export function openToken({ rpcToken: file }: TestnetLayout, host: string): TestnetSetup['token'] {
  return isLoopback(host) ? undefined : { file, value: loadToken(file, { create: true }) }
}

/** Nodes that a verifier dials beside the sequencer, the first: blocks find a way round a link that is down. */
const NEIGHBOURS = 2

/** The earlier nodes that this one dials. */
export function neighboursOf(index: number): number[] {
  const others = Array.from({ length: index }, (_, earlier) => earlier)
  return [...others.slice(0, 1), ...others.slice(1).slice(-NEIGHBOURS)]
}

/** What the outside needs to know. */
export function describeEndpoints(setup: TestnetSetup, nodes: readonly NodeDescription[]): Endpoints {
  const { layout, ports, host, chain, token } = setup
  const url = (port: number) => `http://${reachableHost(host)}:${port}`
  return {
    dashboard: `${url(ports.nodes[0]?.rollupRpc ?? 0)}/dashboard`,
    tokenFile: token?.file,
    dir: layout.dir,
    l1: {
      rpc: url(ports.l1),
      ...(ports.consensus === undefined ? {} : { beacon: url(ports.consensus.beacon) }),
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
    nodes: nodes.map((node) => ({
      name: node.layout.name,
      rollupRpc: url(node.ports.rollupRpc),
      ethRpc: url(node.ports.ethRpc),
      ethWs: url(node.ports.ethRpc).replace('http', 'ws'),
      engineRpc: `http://127.0.0.1:${node.ports.engineRpc}`,
      metrics: `${url(node.ports.metrics)}/metrics`,
      gethMetrics: `${url(node.ports.gethMetrics)}/metrics`,
      p2p: node.p2p,
      peerId: node.peerId,
      jwt: node.layout.jwt,
    })),
    batcher: {
      adminRpc: url(ports.batcherAdmin),
      metrics: `${url(ports.batcherMetrics)}/metrics`,
      address: roles.batcher.address,
    },
    accounts: devAccounts.map(({ name, address, privateKey }) => ({ name, address, privateKey })),
    addressesFile: layout.addresses,
    joinDir: layout.joinDir,
  }
}
