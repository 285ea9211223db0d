import { isIPv4 } from 'node:net'
import type { Clock } from '../../lib/clock.ts'
import type { Logger } from '../../lib/logger.ts'
import { createDiscv5, type Discv5Service, type LocalRecord, type SeenEndpoint } from './discv5.ts'
import type { NodeRecord } from './nodeRecord.ts'
import type { UdpSocket } from './udpSocket.ts'

/** How others reach libp2p, known once it listens. */
export interface Reach {
  /** Undefined: learned from what others see. */
  advertisedIp: string | undefined
  tcpPort: number
  /** Of IPv6. */
  tcp6Port: number
}

/** How others reach this node over IPv4 through a router that maps ports; a port that it does not map is missing. */
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
  /** As Discv5Listener. */
  onSession(record: NodeRecord): void
  /** Everyone is to be asked anew. */
  onRenewed(): void
  /** May say, alone, where this node is, as long as nobody has. */
  isTrusted(ip: string): boolean
}

export interface OwnNodeSetup {
  listenIp: string
  /** 0: the UDP port listened on. */
  advertiseUdpPort: number
  /** Content of the `opstack` entry. */
  opstack: Uint8Array
  requestTimeoutMs?: number | undefined
}

const RENEWAL_PAUSE_MS = 50
/** As long as a request and its repetition may take: then nobody answers any more. */
const MAX_RENEWAL_PAUSES = 40

type Families = Pick<LocalRecord, 'ip4' | 'ip6'>

/** This node on discv5: the service, and what its record says of where it is. */
export type OwnNode = ReturnType<typeof createOwnNode>

export function createOwnNode(modules: OwnNodeModules, setup: OwnNodeSetup) {
  const { clock, logger } = modules
  let running: { service: Discv5Service; socket: UdpSocket; reach: Reach } | undefined
  let external: ExternalReach | undefined
  /** Where somebody trusted has seen this node, until the library's majority knows better. */
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
   * Nobody lists a node whose record has no address, so the first word of a bootnode, or of a node on our own network,
   * is taken for it; a majority corrects it later. Only a new session carries the new record to those that know us.
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
  /** What is under way ends with the old keys: else its answer, or a handshake, would be lost. */
  const renewSoon = (pauses: number): void => {
    cancelRenewal?.()
    cancelRenewal = clock.setTimeout(() => {
      if (pauses > 1 && running?.service.isAsking() === true) renewSoon(pauses - 1)
      else renew()
    }, RENEWAL_PAUSE_MS)
  }
  const renew = (): void => {
    running?.service.renewSessions()
    modules.onRenewed()
  }
  return {
    /** `sequenceAbove`: of an earlier run's record. */
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
    /** Shakes hands anew with everyone, with the same record and table. */
    renew,
    /** Goes into the record instead of what others see; undefined: no more. What the operator advertises stands. */
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

/** An address that is not "all" is where others reach us, as far as we know. */
function specificIp(listenIp: string): string | undefined {
  return listenIp === '0.0.0.0' || listenIp === '::' ? undefined : listenIp
}
