import { createServer } from 'node:net'
import { UsageError } from '../../src/lib/errors.ts'

export interface NodePorts {
  rollupRpc: number
  ethRpc: number
  engineRpc: number
  metrics: number
  p2p: number
}

export interface TestnetPorts {
  l1: number
  batcherAdmin: number
  batcherMetrics: number
  nodes: NodePorts[]
  /** For a node that joins by hand. */
  spare: NodePorts
}

/** Ports of one node, and of what all share, each begin at a multiple of this above the base port. */
const BLOCK = 10
const LAST_PORT = 65_535

/** `base`: L1; +1 and +2: batch submitter; each node has the next ten. Throws UsageError when they do not fit. */
export function assignPorts(base: number, nodeCount: number): TestnetPorts {
  const nodePorts = (index: number): NodePorts => {
    const first = base + BLOCK * (index + 1)
    return { rollupRpc: first, ethRpc: first + 1, engineRpc: first + 2, metrics: first + 3, p2p: first + 4 }
  }
  const spare = nodePorts(nodeCount)
  if (spare.p2p > LAST_PORT) {
    throw new UsageError(
      `--base-port ${base}: ${nodeCount} nodes, and one to join, would need ports up to ${spare.p2p}`,
    )
  }
  const nodes = Array.from({ length: nodeCount }, (_, index) => nodePorts(index))
  return { l1: base, batcherAdmin: base + 1, batcherMetrics: base + 2, nodes, spare }
}

/** Those that the testnet itself listens on. */
function portUses({ l1, batcherAdmin, batcherMetrics, nodes }: TestnetPorts): { port: number; use: string }[] {
  return [
    { port: l1, use: 'L1 RPC' },
    { port: batcherAdmin, use: 'batch submitter RPC' },
    { port: batcherMetrics, use: 'batch submitter metrics' },
    ...nodes.flatMap((node, index) =>
      Object.entries(node).map(([use, port]) => ({ port, use: `${use} of node ${index + 1}` })),
    ),
  ]
}

/** Throws UsageError naming the first port that cannot be listened on. */
export async function checkPortsFree(ports: TestnetPorts, host: string): Promise<void> {
  const taken = await firstTaken(ports, host)
  if (taken === undefined) return
  throw new UsageError(
    `port ${taken.port} (${taken.use}) is ${taken.reason}: another testnet may be running; choose other ports with --base-port`,
  )
}

/** A base port whose ports are all free, for `--base-port 0`. */
export async function findFreePorts(nodeCount: number, host: string): Promise<TestnetPorts> {
  for (let attempt = 0; attempt < 50; attempt++) {
    // Below the range from which systems give out ports for outgoing connections.
    const base = 10_000 + Math.floor(Math.random() * 2_000) * BLOCK
    const ports = assignPorts(base, nodeCount)
    if ((await firstTaken(ports, host)) === undefined) return ports
  }
  throw new UsageError('found no free ports: name some with --base-port')
}

async function firstTaken(ports: TestnetPorts, host: string) {
  const results = await Promise.all(
    portUses(ports).map(async ({ port, use }) => ({ port, use, reason: await whyNotFree(port, host) })),
  )
  return results.find(({ reason }) => reason !== undefined)
}

function whyNotFree(port: number, host: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) =>
      resolve(error.code === 'EADDRINUSE' ? 'in use' : `not usable (${error.message})`),
    )
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(undefined)))
  })
}
