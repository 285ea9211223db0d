import { isIPv4 } from 'node:net'
import type { Clock } from '../../lib/clock.ts'
import type { Logger } from '../../lib/logger.ts'
import { createDiscv5, type Discv5Service, type LocalRecord, type SeenEndpoint } from './discv5.ts'
import type { NodeRecord } from './nodeRecord.ts'
import type { UdpSocket } from './udpSocket.ts'

/** The address of libp2p, known once the host listens. */
export interface Reach {
  /** Undefined: learn the address from other nodes. */
  advertisedIp: string | undefined
  tcpPort: number
  /** TCP port for IPv6. */
  tcp6Port: number
}

/** Our IPv4 address and ports outside a router that maps ports. An unmapped port is undefined. */
export interface ExternalReach {
  ip: string
  tcpPort: number | undefined
  udpPort: number | undefined
}

export interface OwnNodeModules {
  clock: Clock
  logger: Logger
  /** 32 bytes. */
  privateKey: Uint8Array
  onRecord(record: NodeRecord): void
  /** As in Discv5Listener. */
  onSession(record: NodeRecord): void
  /** All sessions were renewed, so the lookup should start again. */
  onRenewed(): void
  /** True: a report of our address from a single node at this IP counts while the address is unknown. */
  isTrusted(ip: string): boolean
}

export interface OwnNodeSetup {
  listenIp: string
  /** 0: the port of the socket. */
  advertiseUdpPort: number
  /** Content of the `opstack` entry. */
  opstack: Uint8Array
  requestTimeoutMs?: number | undefined
}

export const RENEWAL_PAUSE_MS = 50
/** The time of a request and its retry. After that, no answer is expected. */
export const MAX_RENEWAL_PAUSES = 40

type Families = Pick<LocalRecord, 'ip4' | 'ip6'>

/** This node on discv5: the service, and the address in its record. */
export type OwnNode = ReturnType<typeof createOwnNode>

export function createOwnNode(modules: OwnNodeModules, setup: OwnNodeSetup) {
  const { clock, logger } = modules
  let running: { service: Discv5Service; socket: UdpSocket; reach: Reach } | undefined
  let external: ExternalReach | undefined
  /** Our address as a trusted node saw it, until the library has a majority. */
  let seen: Families & { udpPort: number | undefined } = { ip4: undefined, ip6: undefined, udpPort: undefined }
  let cancelRenewal: (() => void) | undefined

  const recordOf = (socket: UdpSocket, reach: Reach): LocalRecord => {
    const fixed = reach.advertisedIp ?? specificIp(setup.listenIp)
    const udpPort = setup.advertiseUdpPort || (seen.udpPort ?? socket.port)
    return {
      ip4:
        familyOf(reach.advertisedIp, 4) ??
        external?.ip ??
        familyOf(fixed, 4) ??
        (fixed === undefined ? seen.ip4 : undefined),
      ip6: familyOf(fixed, 6) ?? (fixed === undefined ? seen.ip6 : undefined),
      tcpPort: external?.tcpPort ?? reach.tcpPort,
      udpPort: setup.advertiseUdpPort || (external?.udpPort ?? udpPort),
      tcp6Port: reach.tcp6Port,
      udp6Port: setup.advertiseUdpPort || socket.port,
      opstack: setup.opstack,
    }
  }
  const isFixed = (reach: Reach): boolean => reach.advertisedIp !== undefined || external !== undefined
  const report = (): void => {
    if (running === undefined) return
    const local = running.service.local()
    seen = { ip4: familyOf(local.ip, 4), ip6: local.alsoAt?.ip ?? familyOf(local.ip, 6), udpPort: local.udpPort }
    logger.info('Discovery learned our address', { enr: local.text })
  }
  /**
   * Nodes do not list a node without an address. So the first report of our address by a bootnode, or by a node on our
   * own network, is used; a majority corrects it later. Nodes that know us receive the new record only in a new
   * session.
   */
  const onSeen = ({ ip, udpPort, nodeIp }: SeenEndpoint): void => {
    if (running === undefined || running.reach.advertisedIp !== undefined) return
    const { ip4, ip6 } = recordOf(running.socket, running.reach)
    if (isIPv4(ip) ? ip4 !== undefined : ip6 !== undefined) return
    if (specificIp(setup.listenIp) !== undefined || !modules.isTrusted(nodeIp)) return
    seen = isIPv4(ip) ? { ...seen, ip4: ip, udpPort } : { ...seen, ip6: ip }
    announce()
  }
  const announce = (): void => {
    if (running === undefined) return
    const { service, socket, reach } = running
    service.update(recordOf(socket, reach), { fixedAddress: isFixed(reach) })
    logger.info('Discovery announces a new address', { enr: service.local().text })
    renewSoon(MAX_RENEWAL_PAUSES)
  }
  /** Waits for open requests, since discarding their session keys would lose an answer or a handshake. */
  const renewSoon = (pauses: number): void => {
    cancelRenewal?.()
    cancelRenewal = clock.setTimeout(() => {
      if (pauses > 1 && running?.service.isWaiting() === true) renewSoon(pauses - 1)
      else renew()
    }, RENEWAL_PAUSE_MS)
  }
  const renew = (): void => {
    running?.service.renewSessions()
    modules.onRenewed()
  }
  return {
    /** `sequenceAbove`: sequence number of the last run's record. */
    async start(socket: UdpSocket, reach: Reach, sequenceAbove: bigint): Promise<void> {
      const service = createDiscv5(
        {
          socket,
          clock,
          privateKey: modules.privateKey,
          listener: { onRecord: modules.onRecord, onSession: modules.onSession, onSeen, onLocalChange: report },
        },
        recordOf(socket, reach),
        { fixedAddress: isFixed(reach), sequenceAbove, requestTimeoutMs: setup.requestTimeoutMs },
      )
      running = { service, socket, reach }
      await service.start()
    },
    async stop(): Promise<void> {
      cancelRenewal?.()
      const stopping = running
      running = undefined
      await stopping?.service.stop()
    },
    service: (): Discv5Service | undefined => running?.service,
    /** Renews all sessions, with the same record and table. */
    renew,
    /**
     * Sets the address that the record announces instead of the address seen by other nodes; undefined: resets it. An
     * address that the operator advertises takes precedence.
     */
    setExternal(next: ExternalReach | undefined): void {
      if (running?.reach.advertisedIp !== undefined) return
      external = next
      announce()
    },
  }
}

function familyOf(ip: string | undefined, family: 4 | 6): string | undefined {
  return ip !== undefined && isIPv4(ip) === (family === 4) ? ip : undefined
}

/** A specific listening address counts as our address. */
function specificIp(listenIp: string): string | undefined {
  return listenIp === '0.0.0.0' || listenIp === '::' ? undefined : listenIp
}
