import { createSocket } from 'node:dgram'
import { createServer, isIPv6, type Server } from 'node:net'
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os'
import { isErrno, UsageError } from '../../src/lib/errors.ts'
import { describeFileError } from '../../src/lib/fileErrors.ts'

export interface NodePorts {
  rollupRpc: number
  ethRpc: number
  engineRpc: number
  metrics: number
  gethMetrics: number
  /** TCP. Discovery uses the same port number of UDP. */
  p2p: number
}

export interface TestnetPorts {
  l1: number
  beacon: number
  /** Engine API of an L1 that is go-ethereum. */
  l1Engine: number
  batcherAdmin: number
  batcherMetrics: number
  /** Port of the invitation. */
  join: number
  nodes: NodePorts[]
  /** Ports for a node that joins by hand. */
  spare: NodePorts
}

/** Size of a port block. The shared ports and each node's ports start at a multiple of it above the base port. */
const BLOCK = 10
const LAST_PORT = 65_535
/** Loopback, which every machine has whatever address the programs listen on. */
const CLAIM_HOST = '127.0.0.1'

/**
 * Port offsets from `base`: 0 L1; 1 and 2 batch submitter; 3 and 4 L1's Engine API and the beacon API; 5 the invitation. Each
 * node has the next block of ten. Throws UsageError if the ports exceed 65535.
 */
export function assignPorts(base: number, nodeCount: number): TestnetPorts {
  const nodePorts = (index: number): NodePorts => {
    const first = base + BLOCK * (index + 1)
    const [rollupRpc, ethRpc, engineRpc] = [first, first + 1, first + 2]
    return { rollupRpc, ethRpc, engineRpc, metrics: first + 3, p2p: first + 4, gethMetrics: first + 5 }
  }
  const spare = nodePorts(nodeCount)
  if (spare.gethMetrics > LAST_PORT) {
    throw new UsageError(
      `--base-port ${base}: ${nodeCount} ${nodeCount === 1 ? 'node' : 'nodes'}, and one to join, need ports up to ${spare.gethMetrics}; the last one is ${LAST_PORT}`,
    )
  }
  const nodes = Array.from({ length: nodeCount }, (_, index) => nodePorts(index))
  return {
    ...{ l1: base, batcherAdmin: base + 1, batcherMetrics: base + 2, l1Engine: base + 3, beacon: base + 4 },
    ...{ join: base + 5, nodes, spare },
  }
}

interface PortUse {
  port: number
  use: string
  isUdp?: boolean
}

/** The ports that the testnet listens on. */
function portUses({ l1, beacon, l1Engine, batcherAdmin, batcherMetrics, join, nodes }: TestnetPorts): PortUse[] {
  return [
    { port: l1, use: 'L1 RPC' },
    { port: beacon, use: 'beacon API' },
    { port: l1Engine, use: 'L1 Engine API' },
    { port: batcherAdmin, use: 'batch submitter RPC' },
    { port: batcherMetrics, use: 'batch submitter metrics' },
    { port: join, use: 'join' },
    ...nodes.flatMap((node, index) => nodePortUses(node, index + 1)),
  ]
}

function nodePortUses(node: NodePorts, number: number): PortUse[] {
  return [
    ...Object.entries(node).map(([use, port]) => ({ port, use: `${use} of node ${number}` })),
    { port: node.p2p, use: `discovery of node ${number}`, isUdp: true },
  ]
}

/** Throws UsageError that names the first port that is not free. */
export async function checkPortsFree(ports: TestnetPorts, host: string): Promise<void> {
  const failed = await firstFailed(portUses(ports), host)
  if (failed !== undefined) throw new UsageError(whyNot(failed, host))
}

/** The first free block of ports after those of `ports` that is not in `taken`. */
export async function claimNodePorts(
  { l1: base, nodes }: TestnetPorts,
  host: string,
  taken: readonly NodePorts[],
): Promise<NodePorts> {
  // One block is reserved for a node that joins by hand.
  for (let index = nodes.length + 1; index < nodes.length + 100; index++) {
    const found = assignPorts(base, index + 1).nodes[index]
    if (found === undefined || taken.some(({ p2p }) => p2p === found.p2p)) continue
    if ((await firstFailed(nodePortUses(found, index + 1), host)) !== undefined) continue
    if ((await claimBlocks(base + BLOCK * (index + 1), 1)) !== undefined) return found
  }
  throw new UsageError(`add-node: found no free ports above ${base}`)
}

/** Below the range of ephemeral ports. */
export const randomBase = (): number => 10_000 + Math.floor(Math.random() * 2_000) * BLOCK

/**
 * Claims free ports, for `--base-port 0`. The claim lasts until this process ends. Two concurrent processes never claim the same
 * block, although their programs listen only later.
 */
export async function claimPorts(
  nodeCount: number,
  host: string,
  { nextBase = randomBase }: { nextBase?: () => number } = {},
): Promise<TestnetPorts> {
  for (let attempt = 0; attempt < 50; attempt++) {
    const base = nextBase()
    const ports = assignPorts(base, nodeCount)
    const claims = await claimBlocks(base, nodeCount + 2)
    if (claims === undefined) continue
    const failed = await firstFailed(portUses(ports), host)
    if (failed === undefined) return ports
    for (const claim of claims) claim.close()
    // Other ports do not help against other errors.
    if (!isErrno(failed.error, 'EADDRINUSE')) throw new UsageError(whyNot(failed, host))
  }
  throw new UsageError('found no free ports: name some with --base-port')
}

/** Listens on the last port of each block, which no program uses. Undefined if another process listens there. */
async function claimBlocks(base: number, count: number): Promise<Server[] | undefined> {
  const claims: Server[] = []
  for (let index = 0; index < count; index++) {
    const claim = createServer()
    const error = await listening(claim, base + BLOCK * (index + 1) - 1, CLAIM_HOST)
    if (error !== undefined) {
      for (const held of claims) held.close()
      return undefined
    }
    claims.push(claim.unref())
  }
  return claims
}

interface FailedPort extends PortUse {
  error: Error
}

async function firstFailed(uses: readonly PortUse[], host: string): Promise<FailedPort | undefined> {
  const results = await Promise.all(
    uses.map(async (use) => ({ ...use, error: await (use.isUdp ? tryUdp : tryTcp)(use.port, host) })),
  )
  return results.flatMap(({ error, ...use }) => (error === undefined ? [] : [{ ...use, error }])).at(0)
}

async function tryTcp(port: number, host: string): Promise<Error | undefined> {
  const server = createServer()
  const error = await listening(server, port, host)
  if (error === undefined) await new Promise((resolve) => server.close(resolve))
  return error
}

/** Resolves to the error if the server cannot listen. */
function listening(server: Server, port: number, host: string): Promise<Error | undefined> {
  return new Promise((resolve) => {
    server.once('error', resolve)
    server.listen({ port, host, exclusive: true }, () => resolve(undefined))
  })
}

function tryUdp(port: number, host: string): Promise<Error | undefined> {
  return new Promise((resolve) => {
    const socket = createSocket(isIPv6(host) ? 'udp6' : 'udp4')
    socket.once('error', resolve)
    socket.bind({ port, address: host, exclusive: true }, () => socket.close(() => resolve(undefined)))
  })
}

/** The message for the user: the flag to change, and the reason. */
function whyNot({ port, use, error }: FailedPort, host: string): string {
  const named = `port ${port} (${use})`
  if (isErrno(error, 'EADDRNOTAVAIL')) {
    const own = ownAddresses().map(({ address }) => address)
    return `--host ${host}: this machine does not have that address; it has ${own.join(', ')}, and 0.0.0.0 stands for all`
  }
  if (isErrno(error, 'EACCES')) {
    return `${named}: the system lets only root listen on so low a port; choose others with --base-port`
  }
  if (isErrno(error, 'EADDRINUSE')) {
    return `${named} is in use: another testnet may be running; choose other ports with --base-port`
  }
  return `${named} is not usable: ${describeFileError(error)}`
}

/** The IPv4 addresses of this machine. */
export function ownAddresses(): NetworkInterfaceInfo[] {
  const addresses = Object.values(networkInterfaces()).flatMap((found) => found ?? [])
  return addresses.filter(({ family }) => family === 'IPv4')
}
