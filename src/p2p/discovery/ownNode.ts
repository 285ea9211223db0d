import { isIPv4 } from 'node:net'
import type { Clock } from '../../lib/clock.ts'
import { describeError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'
import { createDiscv5, type Discv5Service, type LocalRecord, type SeenEndpoint } from './discv5.ts'
import type { NodeRecord } from './nodeRecord.ts'
import type { UdpSocket } from './udpSocket.ts'

/** How others reach libp2p, known once it listens. */
export interface Reach {
  /** Undefined: learned from what others see. */
  advertisedIp: string | undefined
  tcpPort: number
}

/** How others reach this node over IPv4 through a router that maps ports; a port that it does not map is missing. */
export interface ExternalReach {
  ip: string
  tcpPort: number | undefined
  udpPort: number | undefined
}

/** This node on discv5: the service, and what its record says of where it is. */
export interface OwnNode {
  start(socket: UdpSocket, reach: Reach): Promise<void>
  stop(): Promise<void>
  service(): Discv5Service | undefined
  /** Shakes hands anew with everyone, with the same record and table. */
  renew(): void
  /** Goes into the record instead of what others see; undefined: no more. What the operator advertises stands. */
  setExternal(external: ExternalReach | undefined): void
}

export interface OwnNodeModules {
  clock: Clock
  logger: Logger
  /** 32 bytes. */
  privateKey: Uint8Array
  onRecord(record: NodeRecord): void
  /** There are new sessions, and with them perhaps a new record. */
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
}

type Families = Pick<LocalRecord, 'ip4' | 'ip6'>

export function createOwnNode(modules: OwnNodeModules, setup: OwnNodeSetup): OwnNode {
  const { clock, logger } = modules
  let running: { service: Discv5Service; socket: UdpSocket; reach: Reach } | undefined
  let moving: Promise<void> | undefined
  let external: ExternalReach | undefined
  /** Where somebody trusted has seen this node, until the library's majority knows better. */
  let seen: Families & { udpPort: number | undefined } = { ip4: undefined, ip6: undefined, udpPort: undefined }
  let isStopped = false

  const recordOf = (socket: UdpSocket, reach: Reach): LocalRecord => {
    const fixed = reach.advertisedIp ?? specificIp(setup.listenIp)
    const udpPort = setup.advertiseUdpPort || (seen.udpPort ?? socket.port)
    return {
      // Later than any of an earlier run.
      sequence: BigInt(clock.now()),
      ip4:
        familyOf(reach.advertisedIp, 4) ??
        external?.ip ??
        familyOf(fixed, 4) ??
        (fixed === undefined ? seen.ip4 : undefined),
      ip6: familyOf(fixed, 6) ?? (fixed === undefined ? seen.ip6 : undefined),
      tcpPort: external?.tcpPort ?? reach.tcpPort,
      udpPort: setup.advertiseUdpPort || (external?.udpPort ?? udpPort),
      tcp6Port: reach.tcpPort,
      udp6Port: setup.advertiseUdpPort || socket.port,
      opstack: setup.opstack,
    }
  }
  const startService = async (socket: UdpSocket, reach: Reach, sequence?: bigint): Promise<Discv5Service> => {
    const record = recordOf(socket, reach)
    const service = createDiscv5(
      {
        socket,
        privateKey: modules.privateKey,
        listener: { onRecord: modules.onRecord, onSeen, onLocalChange: report },
      },
      sequence === undefined ? record : { ...record, sequence },
      { fixedAddress: reach.advertisedIp !== undefined || external !== undefined },
    )
    running = { service, socket, reach }
    await service.start()
    return service
  }
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
    if (running === undefined || moving !== undefined || running.reach.advertisedIp !== undefined) return
    const { ip4, ip6 } = recordOf(running.socket, running.reach)
    if (isIPv4(ip) ? ip4 !== undefined : ip6 !== undefined) return
    if (specificIp(setup.listenIp) !== undefined || !modules.isTrusted(nodeIp)) return
    seen = isIPv4(ip) ? { ...seen, ip4: ip, udpPort } : { ...seen, ip6: ip }
    restart(false)
  }
  /** With new sessions and the same table. */
  const restart = (hasSameRecord: boolean): void => {
    moving = (async () => {
      if (running === undefined) return
      const { service: old, socket, reach } = running
      const table = old.table()
      const before = old.local()
      await old.stop()
      if (isStopped) return
      const service = await startService(socket, reach, hasSameRecord ? before.sequence : undefined)
      for (const record of table) service.add(record)
      if (!hasSameRecord) logger.info('Discovery announces a new address', { enr: service.local().text })
      modules.onRenewed()
    })()
      .catch((error: unknown) => logger.warn('Discovery could not begin new sessions', { err: describeError(error) }))
      .finally(() => {
        moving = undefined
      })
  }
  return {
    async start(socket, reach) {
      await startService(socket, reach)
    },
    async stop() {
      isStopped = true
      await moving
      await running?.service.stop()
    },
    service: () => running?.service,
    renew() {
      if (running !== undefined && moving === undefined) restart(true)
    },
    setExternal(next) {
      const change = (): void => {
        if (isStopped || running?.reach.advertisedIp !== undefined) return
        external = next
        if (running !== undefined) restart(false)
      }
      if (moving === undefined) change()
      else void moving.then(change)
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
