import { randomBytes } from 'node:crypto'
import { onTestFinished } from 'vitest'
import { type Clock, systemClock } from '../../lib/clock.ts'
import { type Logger, silentLogger } from '../../lib/logger.ts'
import { decompressPublicKey } from '../../lib/secp256k1.ts'
import { createDiscovery, type Discovery, type DiscoveryModules, type DiscoverySetup } from '../discovery/discovery.ts'
import { parseRecord } from '../discovery/discv5.ts'
import type { NodeRecord } from '../discovery/nodeRecord.ts'
import { openUdpSocket } from '../discovery/udpSocket.ts'

/** A discovery service on loopback that runs until the end of the test. */
export interface StartedDiscovery {
  discovery: Discovery
  record: NodeRecord
  /** The reported nodes. */
  found: NodeRecord[]
  lookups(): number
}

export async function startDiscovery(
  bootnodes: string[],
  options: Partial<Pick<DiscoverySetup, 'chainId' | 'listenIp' | 'requestTimeoutMs'>> & {
    privateKey?: Uint8Array
    logger?: Logger
    clock?: Clock
    openSocket?: DiscoveryModules['openSocket']
  } = {},
): Promise<StartedDiscovery> {
  const { privateKey = new Uint8Array(randomBytes(32)), logger = silentLogger, clock = systemClock } = options
  const found: NodeRecord[] = []
  let lookups = 0
  const discovery = createDiscovery(
    {
      clock,
      logger,
      privateKey,
      onPeer: (peer) => found.push(peer),
      isSatisfied: () => false,
      openSocket: options.openSocket ?? ((socket) => openUdpSocket({ clock }, socket)),
      metrics: { onLookup: () => (lookups += 1), onRecord: () => {} },
    },
    {
      chainId: options.chainId ?? 901n,
      listenIp: options.listenIp ?? '127.0.0.1',
      listenUdpPort: 0,
      advertiseUdpPort: 0,
      bootnodes,
      path: 'memory',
      netrestrict: [],
      requestTimeoutMs: options.requestTimeoutMs,
    },
  )
  await discovery.start({ advertisedIp: undefined, tcpPort: 4000, tcp6Port: 4006 })
  onTestFinished(() => discovery.stop())
  return { discovery, found, lookups: () => lookups, record: parseRecord(discovery.localEnr()) }
}

/** `enode://…@127.0.0.1:0?discport=9222`; `place` is the text after the @. */
export function enodeOf(publicKey: Uint8Array, place: string): string {
  return `enode://${Buffer.from(decompressPublicKey(publicKey).subarray(1)).toString('hex')}@${place}`
}
