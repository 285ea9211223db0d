import { randomBytes } from 'node:crypto'
import { Registry } from 'prom-client'
import { silentLogger } from '../../lib/logger.ts'
import { metricValue } from '../../lib/testUtils/metricValue.ts'
import type { PayloadEnvelope } from '../../rollup/protocol/types.ts'
import { DEFAULT_P2P_OPTIONS, type P2pOptions } from '../base/options.ts'
import type { PeerEvent } from '../base/schemas.ts'
import { createP2pNode } from '../node.ts'
import type { P2pModules, P2pNode } from '../types.ts'
import { unhurriedClock } from './clocks.ts'
import { testChain, testConfig } from './testChain.ts'

export interface TestNode {
  node: P2pNode
  registry: Registry
  /** `/ip4/127.0.0.1/tcp/…/p2p/…` */
  address: string
  received: PayloadEnvelope[]
  /** Resolves when a block with this hash has arrived. */
  block(hash: string): Promise<PayloadEnvelope>
  /** The peer's history, newest last. */
  events(peerId: string): Promise<PeerEvent[]>
  /**
   * A metric by its name without op-node's prefix, with its labels: `p2p_dials{allow="true"}`; 0 when it does not
   * exist.
   */
  metric(name: string): Promise<number>
}

/** A started host on a loopback port that the system chooses. In memory by default. */
export async function startTestNode(
  options: Partial<P2pOptions> = {},
  modules: Partial<P2pModules> = {},
): Promise<TestNode> {
  const registry = new Registry()
  const node = await createP2pNode(
    { logger: silentLogger, clock: unhurriedClock(), registry, chain: testChain(testConfig()), ...modules },
    {
      ...DEFAULT_P2P_OPTIONS,
      ...(options.privateKeyPath === undefined ? { privateKey: new Uint8Array(randomBytes(32)) } : {}),
      listenIp: '127.0.0.1',
      listenTcpPort: 0,
      peerStorePath: 'memory',
      ...options,
    },
  )
  const received: PayloadEnvelope[] = []
  node.onPayload((envelope) => received.push(envelope))
  await node.start()
  return {
    node,
    registry,
    address: node.multiaddrs().find((text) => text.startsWith('/ip4/127.0.0.1/')) ?? '',
    received,
    block: (hash) =>
      new Promise((resolve) => {
        const known = received.find((envelope) => envelope.payload.blockHash === hash)
        if (known !== undefined) return resolve(known)
        const stop = node.onPayload((envelope) => {
          if (envelope.payload.blockHash !== hash) return
          stop()
          resolve(envelope)
        })
      }),
    events: async (peerId) => (await node.peerHistory(peerId))[0]?.events ?? [],
    metric: async (name) => (await metricValue(registry, `op_node_default_${name}`)) ?? 0,
  }
}

/** The TCP port of a multiaddress. */
export const tcpPortOf = (address: string): number => Number(/\/tcp\/(\d+)/.exec(address)?.[1])
